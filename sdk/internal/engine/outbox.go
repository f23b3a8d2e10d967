package engine

import (
	"log/slog"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/patch"
)

// outbox holds the unwritten changes of one object: changes of its cycles, as far as the API server has not accepted them,
// and annotations without room on the object. The zero value is empty. An outbox is lost only with the process.
type outbox struct {
	held   *writes           // written before any other handler of changes is called, so that none is called twice; nil if there is nothing
	parked map[string]string // the operator's own annotations that do not fit on the object; they block no handler
}

// writes are the changes of one cycle, and of the handlers of raw events since then.
type writes struct {
	handlers *patch.Patch // the changes and the results of handlers
	own      *patch.Patch // the operator's records, and its finalizer
	about    []string     // ids of the handlers whose outcomes these are
	finished bool         // nothing was left to do for the cause
	since    time.Time    // time of the first failure; zero if no request has failed
	refusals int          // number of times that the API server refused the changes of handlers
}

// maxHeldFns limits the transformations that are held, as each attempt at the patch runs all of them, and
// handlers of raw events go on adding some.
const maxHeldFns = 100

func (w *writes) empty() bool { return w.handlers.Empty() && w.own.Empty() }

func (o *outbox) empty() bool { return o.held == nil && len(o.parked) == 0 }

// put adds the changes of a cycle. If something is held already, these are changes by handlers of raw events. It returns
// the number of transformations that it discards because there would be too many.
func (o *outbox) put(w writes) (discarded int) {
	if o.held == nil {
		o.held = &w
		return 0
	}
	if n := len(w.handlers.Fns()); len(o.held.handlers.Fns())+n > maxHeldFns {
		w.handlers.DropFns()
		discarded = n
	}
	o.held.handlers.Append(w.handlers)
	return discarded
}

// overlay returns the object as if the operator's own changes were written.
func (o *outbox) overlay(obj map[string]any) map[string]any {
	if len(o.parked) > 0 {
		annotations := make(map[string]any, len(o.parked))
		for key, text := range o.parked {
			annotations[key] = text
		}
		obj = patch.Merged(obj, map[string]any{"metadata": map[string]any{"annotations": annotations}})
	}
	if o.held != nil && !o.held.own.Empty() {
		obj = patch.Merged(obj, o.held.own.Tree())
	}
	return obj
}

// target is the version of an object that an outbox is sent to.
type target struct {
	tree        map[string]any
	statusAlone bool // the status has requests of its own
	logger      *slog.Logger
	warnOnce    func(kind string) bool
	send        func(*patch.Patch) (remaining *patch.Patch, err error)
}
