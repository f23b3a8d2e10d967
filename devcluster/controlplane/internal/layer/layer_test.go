package layer

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func untilStopped(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestLayer_StopsAllComponents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(func(err error) { t.Errorf("a stop was reported as a failure: %v", err) })
		l.Run("one", untilStopped)
		l.Run("two", func(ctx context.Context) error { <-ctx.Done(); return nil })
		if err := l.Stop(time.Second); err != nil {
			t.Error(err)
		}
		synctest.Wait()
	})
}

func TestLayer_EndedComponentIsFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reason := errors.New("out of luck")
		for _, result := range []error{reason, nil} {
			failed := make(chan error, 1)
			l := New(func(err error) { failed <- err })
			l.Run("fragile", func(context.Context) error { return result })
			err := <-failed
			if !strings.Contains(err.Error(), "fragile: ") || result != nil && !errors.Is(err, reason) {
				t.Errorf("the failure is %v", err)
			}
			if err := l.Stop(time.Second); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestLayer_StopNamesRunningComponents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		l := New(func(error) {})
		l.Run("good", untilStopped)
		l.Run("stubborn", func(context.Context) error { <-release; return nil })
		begin := time.Now()
		err := l.Stop(3 * time.Second)
		if err == nil || !strings.HasSuffix(err.Error(), "after 3s: stubborn") || time.Since(begin) != 3*time.Second {
			t.Errorf("after %s: %v", time.Since(begin), err)
		}
		close(release)
		synctest.Wait()
	})
}
