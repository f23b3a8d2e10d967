package engine

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
)

func TestExitAfterTimeout_EndsHangingProcess(t *testing.T) {
	for name, c := range map[string]struct {
		limit time.Duration
		exits bool
	}{
		"timeout":    {10 * time.Minute, true},
		"no timeout": {-1, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				var exited atomic.Bool
				o, _ := newTestOperator(t, nil)
				o.config.Exit = func() { exited.Store(true) }
				o.settings.Store(&core.Settings{ExitingTimeout: c.limit})
				context.AfterFunc(ctx, o.noteStop)
				time.Sleep(time.Hour)
				if exited.Load() {
					t.Error("exited before it was asked to stop")
				}
				stop()
				time.Sleep(9 * time.Minute)
				if exited.Load() {
					t.Error("exited before the timeout")
				}
				time.Sleep(2 * time.Minute)
				if exited.Load() != c.exits {
					t.Errorf("exited: %v", exited.Load())
				}
			})
		})
	}
}
