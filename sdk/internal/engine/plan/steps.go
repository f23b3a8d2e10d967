package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

// An idempotency key must not repeat in the next handling, so the operator counts the handlings in which a handler has used keys.
// The count changes in the patch that ends a handling, which the operator sends anyway. Run in the record is the start of the
// handling's progress record. If another operator ended the handling, it removed the progress record without counting; UseSteps
// then finds another start, and counts the ended handling then.

// stepRecorders store the steps of a handling that continues, and record the end of a handling. UseSteps puts the functions into
// stepsInUse at run time, so that operators whose handlers use no keys do not link the functions. Until a process uses its first
// key, it records no ends of handlings; UseSteps finds such an end later, because Run is then another start.
type stepRecorders struct{ store, end func(*recorder) error }

var stepsInUse atomic.Pointer[stepRecorders]

// StepStorage returns the storage of the steps.
func (v *View) StepStorage() state.StepStorage { return state.StepStorage{Prefix: v.failures.Prefix} }

// UseSteps returns the record of a handler for its handling, which began at a time, and remembers that the handler has used it.
// Several goroutines of a handler may call it.
func (p *Plan) UseSteps(v *View, id string, started time.Time) state.HandlerSteps {
	stepsInUse.Store(&stepRecorders{store: (*recorder).storeSteps, end: (*recorder).endSteps})
	v.mu.Lock()
	defer v.mu.Unlock()
	if used, ok := v.steps[id]; ok {
		return used
	}
	steps := v.StepStorage().Read(v.Stored, id)
	ended := len(p.Superseded) > 0 || !steps.Run.Equal(started) && !p.continues(id, steps.Run)
	starts := steps.Started
	switch {
	case steps.Run.IsZero():
		steps = steps.WithoutStarts()
	case ended:
		steps = steps.Ended()
	}
	if reason := p.Cause.Reason; len(p.Superseded) == 0 && (reason == handlers.ReasonCreate || reason == handlers.ReasonDelete) {
		steps.Started = starts // an object has one creation and one deletion, although a process with an old version may have begun it anew
	}
	steps.Run = started
	if v.steps == nil {
		v.steps = make(map[string]state.HandlerSteps, 1)
	}
	v.steps[id] = steps
	return steps
}

// continues reports whether a handler is called again for the change of the handling that began at a time, also after a failure.
func (p *Plan) continues(id string, run time.Time) bool {
	failed := func(f state.Failure) bool { return f.Handler == id && f.Started.Equal(run) }
	return p.Progress.Began(id, run) || p.Recall != nil && slices.ContainsFunc(p.Recall.failures, failed)
}

// UsedSteps returns the record of a handler after [Plan.UseSteps]; false if the handler has not used it in the cycle.
func (v *View) UsedSteps(id string) (state.HandlerSteps, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	steps, ok := v.steps[id]
	return steps, ok
}

// NoteSteps replaces the record of a handler that was returned by [Plan.UseSteps].
func (v *View) NoteSteps(steps state.HandlerSteps) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.steps[steps.Handler] = steps
}

// DropSteps forgets the record of a handler that was returned by [Plan.UseSteps], so that it is not written.
func (v *View) DropSteps(handler string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.steps, handler)
}

// HasSameRecords reports whether a version of the object has the same annotations of the operator as the view.
func (v *View) HasSameRecords(tree map[string]any) bool {
	foreign := func(key string, _ any) bool { return !strings.HasPrefix(key, v.failures.Prefix+"/") }
	own, other := maps.Clone(object.Annotations(v.Tree)), maps.Clone(object.Annotations(tree))
	maps.DeleteFunc(own, foreign)
	maps.DeleteFunc(other, foreign)
	return maps.Equal(own, other)
}

// StepPatch returns the patch that records a step: the steps of the handler, and the progress of the cause, without which the steps
// do not count. The record of a sub-handler is stored as well. The record of the handler is in the patch even if it has not changed,
// because a process with an old version may have replaced it on the object.
func (p *Plan) StepPatch(v *View, steps state.HandlerSteps, own *patch.Patch) (*patch.Patch, error) {
	record, progress := patch.NewPatch(), p.Progress
	record.Append(own) // otherwise, records of a superseded cause would end the handling after a crash
	record.DropFns()
	if err := p.markRecalled(v, record); err != nil { // otherwise, a crash would end the retry of a failure, and with it the handling
		return nil, err
	}
	one, top := progress.Handler(steps.Handler)
	if !top {
		progress = p.withSub(progress, steps.Handler)
		sub, err := v.ProgressOf([]string{steps.Handler}, steps.Run)
		if err != nil {
			return nil, err
		}
		sub = sub.WithPurpose(string(p.Cause.Reason)).WithHandlers([]string{steps.Handler}, steps.Run)
		one, _ = sub.Handler(steps.Handler)
	}
	if err := v.Progress.Store(v.Stored, one.ID, one.Record, record); err != nil {
		return nil, fmt.Errorf("record the progress: %w", err)
	}
	if err := v.StoreProgress(progress, record); err != nil {
		return nil, err
	}
	return record, v.StepStorage().Store(v.Stored, steps, record)
}

// Recorded adds a record to the view that was written during the cycle, and the version that has it.
func (v *View) Recorded(record *patch.Patch, answer *object.Object) {
	merge := record.Tree()
	v.Tree, v.Stored, v.Newest = patch.Merged(v.Tree, merge), patch.Merged(v.Stored, merge), answer
}

// usedSteps returns the records of the handlers that have used keys in the cycle, by the ids of the handlers.
func (v *View) usedSteps() map[string]state.HandlerSteps {
	v.mu.Lock()
	defer v.mu.Unlock()
	used := make(map[string]state.HandlerSteps, len(v.steps))
	maps.Copy(used, v.steps)
	return used
}

// storeSteps records the steps of a handling that continues.
func (w *recorder) storeSteps() error {
	for _, steps := range w.view.usedSteps() {
		if err := w.view.StepStorage().Store(w.view.Stored, steps, w.own); err != nil {
			return err
		}
	}
	return nil
}

// endSteps records the end of the handling. A handler that has failed can be called again for the same change, and then uses the
// same keys, also if its last attempt has used none.
func (w *recorder) endSteps() error {
	ended := w.view.usedSteps()
	for _, steps := range w.view.StepStorage().ReadAll(w.view.Stored, w.situation.Served.Changing) {
		if _, used := ended[steps.Handler]; !used && !steps.Run.IsZero() {
			ended[steps.Handler] = steps
		}
	}
	for _, steps := range ended {
		failed := slices.IndexFunc(w.record.Failures, func(f state.Failure) bool {
			return f.Handler == steps.Handler && (f.Started.Equal(steps.Run) || w.plan.continues(f.Handler, steps.Run))
		})
		if failed < 0 {
			steps = w.ended(steps)
		} else {
			steps.Run = w.record.Failures[failed].Started
		}
		if err := w.view.StepStorage().Store(w.view.Stored, steps, w.own); err != nil {
			return err
		}
	}
	return nil
}

// ended returns the record after the end of the handling: without steps, and with one more ended handling in Epoch. A creation or a
// deletion leaves Epoch as it is, because each happens once, and its keys use no Epoch.
func (w *recorder) ended(steps state.HandlerSteps) state.HandlerSteps {
	ended := steps.Ended()
	progress, _ := w.record.Progress.Handler(steps.Handler)
	_, used := w.view.UsedSteps(steps.Handler)
	if reason := w.plan.Cause.Reason; (reason == handlers.ReasonCreate || reason == handlers.ReasonDelete) && (used || progress.Record.Started.Equal(steps.Run)) {
		ended.Epoch = steps.Epoch
	}
	return ended
}

// Turn returns the turn of a handler: see [state.StepTurn]. Creations and deletions use no record.
func (p *Plan) Turn(v *View, id string, started time.Time) string {
	switch reason := p.Cause.Reason; reason {
	case handlers.ReasonCreate, handlers.ReasonDelete:
		return state.StepTurn(reason, 0)
	default:
		return state.StepTurn(reason, p.UseSteps(v, id, started).Epoch)
	}
}
