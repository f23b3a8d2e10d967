// Package outbox keeps the changes of an object until the API server has accepted them, and sends them.
package outbox

import (
	"log/slog"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/patch"
)

// Outbox holds the unwritten changes of one object: changes of its cycles, as far as the API server has not accepted them,
// and annotations without room on the object. The zero value is empty. An outbox is lost only with the process.
type Outbox struct {
	Held   *Writes           // written before any other handler of changes is called, so that none is called twice; nil if there is nothing
	Parked map[string]string // the operator's own annotations that do not fit on the object; they block no handler
}

// Writes are the changes of one cycle, and of the handlers of raw events since then.
type Writes struct {
	Handlers *patch.Patch // the changes and the results of handlers
	Own      *patch.Patch // the operator's records, and its finalizer
	About    []string     // ids of the handlers whose outcomes these are
	Finished bool         // nothing was left to do for the cause
	Since    time.Time    // time of the first failure; zero if no request has failed
	refusals int          // number of times that the API server refused the changes of handlers
}

// maxHeldFns limits the transformations that are held, as each attempt at the patch runs all of them, and
// handlers of raw events go on adding some.
const maxHeldFns = 100

// Empty reports whether there is nothing to write.
func (w *Writes) Empty() bool { return w.Handlers.Empty() && w.Own.Empty() }

// Empty reports whether all changes are written.
func (o *Outbox) Empty() bool { return o.Held == nil && len(o.Parked) == 0 }

// Put adds the changes of a cycle. If something is held already, these are changes by handlers of raw events. It returns
// the number of transformations that it discards because there would be too many.
func (o *Outbox) Put(w Writes) (discarded int) {
	if o.Held == nil {
		o.Held = &w
		return 0
	}
	if n := len(w.Handlers.Fns()); len(o.Held.Handlers.Fns())+n > maxHeldFns {
		w.Handlers.DropFns()
		discarded = n
	}
	o.Held.Handlers.Append(w.Handlers)
	return discarded
}

// Overlay returns the object as if the operator's own changes were written.
func (o *Outbox) Overlay(obj map[string]any) map[string]any {
	if len(o.Parked) > 0 {
		annotations := make(map[string]any, len(o.Parked))
		for key, text := range o.Parked {
			annotations[key] = text
		}
		obj = patch.Merged(obj, map[string]any{"metadata": map[string]any{"annotations": annotations}})
	}
	if o.Held != nil && !o.Held.Own.Empty() {
		obj = patch.Merged(obj, o.Held.Own.Tree())
	}
	return obj
}

// Target is the version of an object that an outbox is sent to.
type Target struct {
	Tree        map[string]any
	StatusAlone bool // the status has requests of its own
	Logger      *slog.Logger
	WarnOnce    func(kind string) bool
	Send        func(*patch.Patch) (remaining *patch.Patch, err error)
}
