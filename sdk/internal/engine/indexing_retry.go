package engine

import (
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// failed is an object that some indexing functions have failed for.
type failed struct {
	failures indexFailures

	event watch.Event // the newest version
	timer *time.Timer // of the next attempt; nil if there is none to wait for
}

// schedule lets those of the selected functions that have failed be called again when their
// delays are over, even if nothing happens to the object by then.
func (x *indexer) schedule(id string, f *failed, event watch.Event, selected []*handlers.Handler) {
	f.stop()
	if len(f.failures) == 0 {
		delete(x.failures, id)
		return
	}
	due, waiting := f.failures.Next(func(id string) bool { return hasID(selected, id) })
	if !waiting {
		return
	}
	f.event = event
	var timer *time.Timer
	timer = time.AfterFunc(due.Sub(x.now()), func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		if f.timer == timer && x.ctx != nil && x.ctx.Err() == nil {
			x.index(id, f.event, func(h *handlers.Handler) bool { _, failed := f.failures[h.ID]; return failed })
			x.publish()
		}
	})
	f.timer = timer
}

// stop forgets about the next attempt.
func (f *failed) stop() {
	if f.timer != nil {
		f.timer.Stop()
		f.timer = nil
	}
	f.event = watch.Event{}
}
