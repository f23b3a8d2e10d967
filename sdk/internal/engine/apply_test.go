package engine

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestWithGrace_EndsSomeTimeAfterParent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		operator, stop := context.WithCancel(t.Context())
		ctx, cancel := withGrace(operator, time.Second)
		defer cancel()
		stop()
		synctest.Wait()
		time.Sleep(time.Second - time.Nanosecond)
		if ctx.Err() != nil {
			t.Fatal("it ends too early")
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if ctx.Err() == nil {
			t.Fatal("it does not end")
		}
	})
}

func TestWithGrace_HasNoLimitWhileParentLasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := withGrace(t.Context(), time.Second)
		time.Sleep(time.Hour)
		if ctx.Err() != nil {
			t.Fatal("it has ended")
		}
		cancel()
		if ctx.Err() == nil {
			t.Fatal("it has not ended")
		}
	})
}
