package plan

import (
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

// An idempotency key must not repeat in the next handling, so the operator counts the handlings in which a handler has used keys.
// The count changes in the patch that ends a handling, which the operator sends anyway. The record names the progress record of its
// handling by its start. If another operator has ended the handling, it has removed the progress record, and the count is one behind.

// usedSteps are the records of the handlers that have used keys in the cycle. It is safe for concurrent use.
type usedSteps struct {
	mu  sync.Mutex
	all map[string]state.HandlerSteps
}

func (v *View) stepStorage() state.StepStorage { return state.StepStorage{Prefix: v.failures.Prefix} }

// UseSteps returns the record of a handler for its handling, which began at a time, and remembers that the handler has used it.
// Several goroutines of a handler may call it.
func (p *Plan) UseSteps(v *View, id string, started time.Time) state.HandlerSteps {
	v.steps.mu.Lock()
	defer v.steps.mu.Unlock()
	if used, ok := v.steps.all[id]; ok {
		return used
	}
	steps := v.stepStorage().Read(v.Stored, id)
	if run := steps.Run; !run.IsZero() && !run.Equal(started) && !p.Recall.repeats(id, run) {
		steps = steps.Ended()
	}
	steps.Run = started
	if v.steps.all == nil {
		v.steps.all = make(map[string]state.HandlerSteps, 1)
	}
	v.steps.all[id] = steps
	return steps
}

// repeats reports whether a handler failed in the handling that began at a time, and is called again for the same change.
func (r *recall) repeats(id string, run time.Time) bool {
	return r != nil && slices.ContainsFunc(r.failures, func(f state.Failure) bool { return f.Handler == id && f.Started.Equal(run) })
}

// used returns the records of the cycle's handlers, sorted by their ids.
func (u *usedSteps) used() []state.HandlerSteps {
	u.mu.Lock()
	defer u.mu.Unlock()
	var all []state.HandlerSteps
	for _, id := range object.SortedKeys(u.all) {
		all = append(all, u.all[id])
	}
	return all
}

// storeSteps records the steps of a handling that continues.
func (w *recorder) storeSteps() error {
	for _, steps := range w.view.steps.used() {
		if err := w.view.stepStorage().Store(w.view.Stored, steps, w.own); err != nil {
			return err
		}
	}
	return nil
}

// endSteps records the end of the handling. A handler that has failed can be called again for the same change, and then uses the
// same keys.
func (w *recorder) endSteps() error {
	ended := w.view.steps.used()
	for _, steps := range w.view.stepStorage().ReadAll(w.view.Stored, w.situation.Served.Changing) {
		known := func(other state.HandlerSteps) bool { return other.Handler == steps.Handler }
		if !steps.Run.IsZero() && !slices.ContainsFunc(ended, known) {
			ended = append(ended, steps)
		}
	}
	for _, steps := range ended {
		failed := func(f state.Failure) bool { return f.Handler == steps.Handler && f.Started.Equal(steps.Run) }
		if !slices.ContainsFunc(w.record.Failures, failed) {
			steps = steps.Ended()
		}
		if err := w.view.stepStorage().Store(w.view.Stored, steps, w.own); err != nil {
			return err
		}
	}
	return nil
}

// endSuperseded records the end of handlings that the cause supersedes, before its handlers are called.
func (v *View) endSuperseded(served *core.ServedResource, own *patch.Patch) error {
	for _, steps := range v.stepStorage().ReadAll(v.Stored, served.Changing) {
		if steps.Run.IsZero() {
			continue
		}
		ended := patch.NewPatch()
		if err := v.stepStorage().Store(v.Stored, steps.Ended(), ended); err != nil {
			return err
		}
		v.Stored = patch.Merged(v.Stored, ended.Tree())
		own.Append(ended)
	}
	return nil
}

// Turn returns the part of idempotency keys that differs between the handlings of an object. A handler is called for one creation and
// one deletion of an object, so that these need no count.
func (p *Plan) Turn(v *View, id string, started time.Time) string {
	switch reason := p.Cause.Reason; reason {
	case handlers.ReasonCreate, handlers.ReasonDelete:
		return string(reason)
	default:
		return string(reason) + " " + strconv.Itoa(p.UseSteps(v, id, started).Epoch)
	}
}
