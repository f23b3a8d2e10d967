package engine

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestAProgramThatDoesNotEndIsEnded(t *testing.T) {
	for name, c := range map[string]struct {
		limit time.Duration
		ended bool
	}{
		"at the limit":   {10 * time.Minute, true},
		"without limits": {-1, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				var ended atomic.Bool
				limitExit(ctx, func() time.Duration { return c.limit }, func() { ended.Store(true) })
				time.Sleep(time.Hour)
				if ended.Load() {
					t.Error("it is ended before it was asked to")
				}
				stop()
				time.Sleep(9 * time.Minute)
				if ended.Load() {
					t.Error("it is ended before its time")
				}
				time.Sleep(2 * time.Minute)
				if ended.Load() != c.ended {
					t.Errorf("ended: %v", ended.Load())
				}
			})
		})
	}
}
