// Package outbox keeps the unwritten changes of an object until the API server accepts them, and sends them.
package outbox

import (
	"log/slog"
	"maps"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

// Outbox holds the unwritten changes of one object: changes of its cycles that the API server has not accepted, and
// annotations without room on the object. The zero value is empty. Only the end of the process loses an outbox.
type Outbox struct {
	Held   *Writes           // unwritten changes, which block change handlers so that none is called twice; nil if there are none
	Parked map[string]string // the operator's own annotations that do not fit on the object; they block no handler

	// Steps has the steps whose records the API server has not accepted; nil if there are none. A step without a Result must happen at
	// most once and was not called; its start has the time At, and is perhaps on the object.
	Steps  map[StepID]state.Step
	pauses int64 // see [Outbox.DropStartsBeforePause]
}

// StepID names a step in a handling.
type StepID struct {
	Handler, Name string
	Reason        handlers.Reason // another handling for another reason can adopt the progress record, and with it Run
	Run           time.Time       // see [state.HandlerSteps]
}

// Writes are the changes of one cycle, and later changes by event handlers.
type Writes struct {
	Handlers *patch.Patch // changes and results of handlers
	Own      *patch.Patch // the operator's records and finalizer
	About    []string     // ids of the handlers whose outcomes are recorded
	Finished bool         // set if the cause has nothing left to do
	Since    time.Time    // time of the first failed request; zero if no request failed
	refusals int          // number of times that the API server refused the changes of handlers
}

// maxHeldFns limits the held transformations, because each attempt at the patch runs all of them, and event handlers
// continue to add more.
const maxHeldFns = 100

// Empty reports whether there is nothing to write.
func (w *Writes) Empty() bool { return w.Handlers.Empty() && w.Own.Empty() }

// Empty reports whether all changes are written.
func (o *Outbox) Empty() bool { return o.Held == nil && len(o.Parked) == 0 }

// Put adds the changes of a cycle. If the outbox already holds changes, the added ones come from event handlers. It
// returns the number of transformations that it discards to stay below maxHeldFns.
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

// KeepStep adds a step whose record the API server has not accepted yet.
func (o *Outbox) KeepStep(id StepID, step state.Step) {
	if o.Steps == nil {
		o.Steps = make(map[StepID]state.Step, 1)
	}
	o.Steps[id] = step
}

// DropStarts forgets which starts were recorded without a call, because another process may have called these steps since then.
func (o *Outbox) DropStarts() {
	maps.DeleteFunc(o.Steps, func(_ StepID, step state.Step) bool { return step.Result == nil })
}

// DropStartsBeforePause drops the starts if the operator was paused since the last call. Pauses is the number of its pauses.
func (o *Outbox) DropStartsBeforePause(pauses int64) {
	if o.pauses != pauses {
		o.DropStarts()
		o.pauses = pauses
	}
}

// Overlay returns the object as if the operator's own changes were written.
func (o *Outbox) Overlay(obj map[string]any) map[string]any {
	if o.Empty() {
		return obj
	}
	own := patch.NewPatch()
	for key, text := range o.Parked {
		own.Set(object.Path{"metadata", "annotations", key}, text)
	}
	if o.Held != nil {
		own.Append(o.Held.Own)
	}
	return patch.Merged(obj, own.Tree())
}

// Target is the version of an object to which an outbox is sent.
type Target struct {
	Tree        map[string]any
	StatusAlone bool // the status has its own requests
	Logger      *slog.Logger
	WarnOnce    func(kind string) bool
	Send        func(*patch.Patch) (remaining *patch.Patch, err error)
}

// Send sends the held changes. The outbox drops the changes of each accepted request. If the API server refuses changes
// by handlers, Send sends the rest without them, so that no outcome is lost.
func (o *Outbox) Send(to *Target) (err error) {
	w, ownFns := o.Held, o.Held.Own.Fns()
	w.Handlers, err = o.attempt(to, w.Handlers)
	if v := w.verdict(err, to); v != repeatIt && !failsTransformations(err) {
		err = o.sendRest(to, ownFns, v, err)
	}
	if w.Own.Empty() && w.verdict(err, to) == keepIt {
		w.refusals++
	}
	if w.Empty() {
		o.Held = nil
	}
	return err
}

// attempt sends changes by handlers together with the operator's own changes, as far as they fit. It returns the unsent
// changes by handlers.
func (o *Outbox) attempt(to *Target, handlers *patch.Patch) (left *patch.Patch, err error) {
	w, whole, remaining := o.Held, o.fit(to, handlers), (*patch.Patch)(nil)
	if !whole.Empty() {
		remaining, err = to.Send(whole)
	}
	w.Own, left = w.Own.UnsentFields(remaining), handlers.Unsent(remaining)
	if failsTransformations(err) && w.verdict(err, to) == dropIt {
		left.DropFns()
	}
	return left, err
}

// sendRest sends the changes without the refused fields of handlers. If the API server accepts them, the verdict on the
// fields applies; otherwise, nothing is dropped.
func (o *Outbox) sendRest(to *Target, ownFns []patch.Fn, v verdict, refusal error) error {
	w := o.Held
	for _, fn := range ownFns {
		w.Own.AddFn(fn)
	}
	fns, err := o.attempt(to, w.Handlers.TakeFns())
	if w.Own.Empty() && v == dropIt {
		to.Logger.With(observe.ErrorAttrs(refusal)...).Error("API server rejected the handlers' patch; discarding it", observe.EventKey, observe.LogPatchRejected)
		w.Handlers = fns
		return err
	}
	w.Handlers.Restore(fns)
	if w.Own.Empty() {
		return refusal
	}
	return err
}

// verdict returns the fate of the part that made a request fail. Parts are sent in a fixed order, so this is the first
// unsent part.
func (w *Writes) verdict(err error, to *Target) verdict {
	outsideStatus := func(p *patch.Patch) bool {
		_, status := p.Lookup(object.Path{"status"})
		return p.Fields() > 1 || p.Fields() == 1 && !status
	}
	about := theChanges
	switch {
	case failsTransformations(err):
		about = theTransformations
	case w.Handlers.Fields() == 0, to.StatusAlone && outsideStatus(w.Own) && !outsideStatus(w.Handlers):
		about = theRecords
	case setsMetadata(w.Handlers.Tree(), "resourceVersion"):
		about = thePinned
	}
	return verdictOn(classifyAnswer(err, about == theTransformations), about, w.refusals)
}
