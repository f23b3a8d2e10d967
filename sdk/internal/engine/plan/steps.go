package plan

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/engine/outbox"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/redact"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

// An idempotency key must not repeat in the next handling, so the operator counts the handlings in which a handler has used keys, in the patch
// that ends a handling. Run in the record is the start of the handling's progress record. If another operator ended the handling, it removed the
// progress record without counting; UseSteps then finds another start, and counts the ended handling.

// stepsInUse is storeSteps after the first use of a key, so that operators whose handlers use no keys do not link the function. Until then,
// a process records no ends of handlings; UseSteps finds such an end later, because Run is then another start.
var stepsInUse atomic.Pointer[func(w *recorder, ends bool) error]

// StepStorage returns the storage of the steps.
func (v *View) StepStorage() state.StepStorage { return state.StepStorage{Prefix: v.failures.Prefix} }

// UseSteps returns the record of a handler for its handling, which began at a time, and remembers that the handler has used it.
// Several goroutines of a handler may call it.
func (p *Plan) UseSteps(v *View, id string, started time.Time) state.HandlerSteps {
	stepsInUse.Store(new((*recorder).storeSteps))
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

// storeSteps records the steps of the handling. If the handling ends, it also ends the steps of earlier attempts. But a handler that has
// failed can be called again for the same change, and then uses the same keys, also if its last attempt has used none.
func (w *recorder) storeSteps(ends bool) error {
	w.view.mu.Lock()
	all := make(map[string]state.HandlerSteps, len(w.view.steps))
	maps.Copy(all, w.view.steps)
	w.view.mu.Unlock()
	if ends {
		for _, steps := range w.view.StepStorage().ReadAll(w.view.Stored, w.situation.Served.Changing) {
			if _, used := all[steps.Handler]; !used && !steps.Run.IsZero() {
				all[steps.Handler] = steps
			}
		}
	}
	for _, steps := range all {
		failed := func(f state.Failure) bool {
			return f.Handler == steps.Handler && (f.Started.Equal(steps.Run) || w.plan.continues(f.Handler, steps.Run))
		}
		switch i := slices.IndexFunc(w.record.Failures, failed); {
		case !ends:
		case i < 0:
			steps = w.ended(steps)
		default:
			steps.Run = w.record.Failures[i].Started
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
	once := w.plan.Cause.Reason == handlers.ReasonCreate || w.plan.Cause.Reason == handlers.ReasonDelete
	if once && (used || progress.Record.Started.Equal(steps.Run)) {
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

// CountedSteps returns the recorded steps that count: the next attempts of the unfinished handling, and retries of failed handlers,
// return their results without a call. Changing are the ids of the handlers.
func (p *Plan) CountedSteps(v *View, changing []string) []observe.RecordedSteps {
	if len(p.Superseded) > 0 {
		return nil
	}
	var counted []observe.RecordedSteps
	for _, steps := range v.StepStorage().ReadAll(v.Stored, changing) {
		if len(steps.Steps)+len(steps.Started) == 0 {
			continue
		}
		if reason, count := p.handlingOf(v, steps); count {
			counted = append(counted, observe.RecordedSteps{
				Handler: steps.Handler, Turn: state.StepTurn(reason, steps.Epoch), Steps: steps.Steps, Started: steps.Started,
			})
		}
	}
	return counted
}

// handlingOf returns the reason of the handling that steps belong to; false if it has ended.
func (p *Plan) handlingOf(v *View, steps state.HandlerSteps) (handlers.Reason, bool) {
	if one, ok := p.Progress.Handler(steps.Handler); ok && one.Active {
		return p.Cause.Reason, p.continues(steps.Handler, steps.Run)
	}
	for _, f := range p.Failures {
		if f.Handler == steps.Handler && f.Started.Equal(steps.Run) {
			return handlers.Reason(f.Purpose), true
		}
	}
	progress, err := v.ProgressOf([]string{steps.Handler}, steps.Run)
	if err != nil {
		return "", false // the handling fails with the same error
	}
	one, ok := progress.Handler(steps.Handler)
	return p.Cause.Reason, ok && one.Record.Started.Equal(steps.Run)
}

// stepRoom is the room in bytes that the annotations of an object must have before a step is called.
const stepRoom = 2 * state.MaxStepResult

// CheckStepRoom returns an error if the object has no room for the record of one more step.
func (v *View) CheckStepRoom(steps state.HandlerSteps) error {
	switch {
	case len(steps.Steps) >= state.MaxSteps:
		return handlers.AsPermanent(fmt.Errorf("a handling has at most %d steps; an object is no journal", state.MaxSteps))
	case v.StepStorage().Size(v.Stored)+state.MaxStepResult > state.MaxStepsSize:
		return handlers.AsPermanent(fmt.Errorf("the steps of an object have at most %d bytes; return ids instead of whole results", state.MaxStepsSize))
	case patch.AnnotationsSize(v.Stored, nil)+stepRoom > patch.MaxAnnotationsSize:
		return handlers.AsTemporary(fmt.Errorf("the annotations of the object leave no room for the record; shorten the biggest: %s",
			outbox.BiggestAnnotations(v.Stored)), 0)
	}
	return nil
}

// CheckStepResult returns a permanent error if a result must not be on the object. The secrets are of the object.
func CheckStepResult(result []byte, secrets *redact.Secrets) error {
	if len(result) > state.MaxStepResult {
		return handlers.AsPermanent(fmt.Errorf("the result has %d bytes, and a record at most %d; return an id", len(result), state.MaxStepResult))
	}
	var value any
	if err := json.Unmarshal(result, &value); err != nil {
		return handlers.AsPermanent(err)
	}
	secret := secretMember(value)
	if secret == "" && secrets.Text(string(result)) != string(result) {
		secret = "a value of the object"
	}
	if secret != "" {
		return handlers.AsPermanent(fmt.Errorf("the result seems to contain a secret, %s: store it in a Secret, and return the name", secret))
	}
	return nil
}

// secretMember returns the name of a member that seems to be a secret; empty if there is none.
func secretMember(value any) string {
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			if name := secretMember(item); name != "" {
				return name
			}
		}
	case map[string]any:
		for _, name := range object.SortedKeys(value) {
			if _, isText := value[name].(string); isText && seemsSecret(name) {
				return name
			}
			if name := secretMember(value[name]); name != "" {
				return name
			}
		}
	}
	return ""
}

func seemsSecret(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc([]string{"password", "token", "secret", "key"}, func(end string) bool { return strings.HasSuffix(name, end) })
}
