package engine

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestTheShortestDelayCounts(t *testing.T) {
	if _, ok := shortest(nil); ok {
		t.Error("there is a delay among none")
	}
	if got, ok := shortest([]time.Duration{3, 1, 2}); !ok || got != 1 {
		t.Errorf("got %d, %t", got, ok)
	}
	if got, ok := shortest([]time.Duration{0, 1}); !ok || got != 0 {
		t.Errorf("got %d, %t", got, ok)
	}
}

func TestLastPatchesOutliveTheOperatorForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		operator, stop := context.WithCancel(t.Context())
		ctx, cancel := outliving(operator, time.Second)
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

func TestPatchesHaveNoLimitWhileTheOperatorRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := outliving(t.Context(), time.Second)
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
