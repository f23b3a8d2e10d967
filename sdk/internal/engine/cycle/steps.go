package cycle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/engine/memory"
	"github.com/kopf-dev/kopf/sdk/internal/engine/outbox"
	"github.com/kopf-dev/kopf/sdk/internal/engine/plan"
	"github.com/kopf-dev/kopf/sdk/internal/fence"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/planning"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

// A step has an effect outside of the cluster. So the operator checks before the effect whether it can record the step. Only the
// result must be checked after the effect. The handler waits while the record is written, so no other goroutine writes the object's
// records at the same time.

var (
	errStepRuns  = errors.New("another step or the sub-handlers of the same handler are running: steps run one after the other, and do not nest")
	errStepEnded = errors.New("the handler has returned before the end of its step")
	errStepLeft  = errors.New("an earlier attempt or process has not recorded a result")
)

// recordAgain is the delay of the next attempt at a handler after a step could not be recorded.
const recordAgain = time.Second

// Step implements [handlers.Keyed].
func (s *subhandlers) Step(ctx context.Context, started time.Time, one handlers.StepCall) (result []byte, err error) {
	name := one.Name
	defer func() {
		if err != nil {
			err = fmt.Errorf("step %q: %w", name, err)
		}
	}()
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	c := s.cycle
	ctx = fence.Carry(ctx, c.plan.Cause.Context)
	steps := c.plan.UseSteps(c.view, s.parent.ID, started).WithAsked(name)
	c.view.NoteSteps(steps)
	if step, ok := steps.Steps[name]; ok {
		s.reportStep(steps, one, inspect.StepRecorded)
		return step.Result, c.noteOutdated(steps, name, step)
	}
	id := outbox.StepID{Handler: s.parent.ID, Name: name, Reason: c.plan.Cause.Reason, Run: steps.Run}
	step := c.memory.Outbox.Steps[id]
	if step.Result == nil {
		if steps, step, err = s.call(ctx, steps, id, one); err != nil {
			return nil, err
		}
	}
	steps.Made = true
	if err = s.record(ctx, id, steps.WithStep(name, step), step); err != nil {
		s.reportStep(steps, one, inspect.StepUnrecorded)
		return step.Result, err
	}
	s.reportStep(steps, one, inspect.StepRecorded)
	return step.Result, nil
}

// call calls a step that has no result. It returns the record with the start of the step.
func (s *subhandlers) call(ctx context.Context, steps state.HandlerSteps, id outbox.StepID, one handlers.StepCall) (state.HandlerSteps, state.Step, error) {
	c := s.cycle
	c.memory.Outbox.DropStartsBeforePause(c.deps.State.Pauses.Load()) // a pause can begin and end during the cycle
	if at := steps.Started[id.Name]; one.Once && at != "" && at != c.memory.Outbox.Steps[id].At {
		return steps, state.Step{}, s.unsure(steps, one, errStepLeft)
	}
	if err := planning.CheckStep(); err != nil {
		return steps, state.Step{}, handlers.AsPermanent(err)
	}
	if err := c.view.CheckStepRoom(steps); err != nil {
		return steps, state.Step{}, err
	}
	if fence.MayBegin(ctx) != nil {
		return steps, state.Step{}, core.ErrStopping
	}
	if one.Once {
		var err error
		if steps, err = s.recordStart(ctx, steps, id); err != nil {
			return steps, state.Step{}, err
		}
	}
	s.reportStep(steps, one, inspect.StepRunning)
	result, failed := one.Do(ctx)
	step, err := state.Step{}, failed
	if failed == nil {
		step, err = c.newStep(id, result)
	}
	if err == nil {
		return steps, step, nil
	}
	s.reportStep(steps, one, "")
	if !one.Once {
		return steps, step, err
	}
	if kind := handlers.ErrorKindOf(failed); kind == handlers.KindTemporary || kind == handlers.KindPermanent {
		steps = steps.WithStarted(id.Name, "")
		steps.Unstart = s.removeStarts
		c.view.NoteSteps(steps) // the patch with the outcome removes the start
		return steps, step, err
	}
	return steps, step, s.unsure(steps, one, err)
}

// reportUnknown reports the recorded steps that the attempt did not request, because a release has probably renamed or removed these
// steps. It reports nothing if the attempt neither succeeded nor made a new step, because such an attempt may have failed before the
// recorded steps.
func (s *subhandlers) reportUnknown(out handlers.Outcome) {
	c, id := s.cycle, s.parent.ID
	if c.view.StepStorage().Size(c.view.Stored) == 0 {
		return
	}
	succeeded := out.Final && out.Err == nil && s.parent.Errors != handlers.ErrorsIgnored
	steps, used := c.view.UsedSteps(id)
	turn := state.StepTurn(c.plan.Cause.Reason, steps.Epoch)
	if !used && succeeded {
		for _, counted := range c.plan.CountedSteps(c.view, []string{id}) {
			if counted.Handler == id {
				steps.Steps, steps.Started, turn = counted.Steps, counted.Started, counted.Turn
			}
		}
	}
	if len(steps.Steps)+len(steps.Started) == 0 || !succeeded && !steps.Made {
		return
	}
	for _, name := range steps.UnaskedStarts() {
		at, _ := object.ParseTime(steps.Started[name])
		s.emitStep(turn, inspect.Step{Name: name, State: inspect.StepAbandoned, At: at, Once: true})
	}
	essence, err := state.EssenceHash(c.plan.Cause.New)
	if err != nil {
		return // the same state has no record then
	}
	for _, name := range steps.Unasked(essence) {
		at, _ := object.ParseTime(steps.Steps[name].At) // zero if another program has changed the record
		s.emitStep(turn, inspect.Step{Name: name, State: inspect.StepUnknown, At: at})
	}
}

// unsure returns the error of a step that has perhaps happened, and reports it.
func (s *subhandlers) unsure(steps state.HandlerSteps, one handlers.StepCall, why error) error {
	c, key := s.cycle, s.cycle.view.StepStorage().StartedKey(s.parent.ID, one.Name, s.cycle.view.Stored)
	s.reportStep(steps, one, inspect.StepUnsure)
	c.subject.Logger.Error(fmt.Sprintf("Step %q of handler '%s' has started and perhaps happened; it is not repeated", one.Name, s.parent.ID),
		observe.EventKey, observe.LogStepUnsure, "error", why)
	where := strings.TrimSuffix(c.served.Resource.Plural+"."+c.served.Resource.Version+"."+c.served.Resource.Group, "."+c.served.Resource.Version+".")
	if c.object.Namespace != "" {
		where += " -n " + c.object.Namespace
	}
	return handlers.AsPermanent(fmt.Errorf("%w: %w. If it has not happened, remove its start, and retry the handler: kubectl annotate %s %s %s-",
		handlers.ErrStepUnsure, why, where, c.object.Name, key))
}

// newStep returns the record of a result. It is kept if a deletion handler undoes the step. Only steps of creations can be undone, because
// an object is created once, so that the step has one result and one key.
func (c *cycle) newStep(id outbox.StepID, result []byte) (step state.Step, err error) {
	if err := plan.CheckStepResult(result, c.subject.Secrets); err != nil {
		return step, err
	}
	undoes := func(h *handlers.Handler) bool {
		return h.Undoes != nil && *h.Undoes == handlers.StepRef{Handler: id.Handler, Step: id.Name}
	}
	step.Result, step.At = result, object.FormatTime(c.deps.Now())
	step.Kept = c.plan.Cause.Reason == handlers.ReasonCreate && c.served.Handlers.Any(handlers.Changing, undoes)
	step.Essence, err = state.EssenceHash(c.plan.Cause.New)
	return step, err
}

// reportStep emits the state of a step, which is empty after a failure. The steps of a handler that has returned are not reported.
func (s *subhandlers) reportStep(steps state.HandlerSteps, one handlers.StepCall, as inspect.StepState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	at := s.cycle.deps.Now()
	if recorded, ok := steps.Steps[one.Name]; ok {
		at, _ = object.ParseTime(recorded.At) // zero if another program has changed the record
	} else if as == inspect.StepUnsure {
		at, _ = object.ParseTime(steps.Started[one.Name])
	}
	s.emitStep(state.StepTurn(s.cycle.plan.Cause.Reason, steps.Epoch), inspect.Step{Name: one.Name, State: as, At: at, Once: one.Once})
}

func (s *subhandlers) emitStep(turn string, step inspect.Step) {
	c := s.cycle
	if !c.deps.Sink.Wants(observe.KindStepChanged) {
		return
	}
	step.Key = state.StepKey(c.object.UID, s.parent.ID, turn, step.Name)
	observe.Emit(c.deps.Sink, observe.StepChanged{Subject: c.subject, Handler: s.parent, Step: step})
}

// Undone implements [handlers.Keyed].
func (s *subhandlers) Undone(step handlers.StepRef) []byte {
	c := s.cycle
	for id, unwritten := range c.memory.Outbox.Steps {
		if id.Handler == step.Handler && id.Name == step.Step && unwritten.Kept {
			return unwritten.Result
		}
	}
	recorded, _ := c.view.StepStorage().Read(c.view.Stored, step.Handler).Undone(step.Step)
	return recorded.Result
}

// record writes a step to the object. If the API server does not accept it, the memory of the object keeps the result, so that this
// process does not repeat the effect.
func (s *subhandlers) record(ctx context.Context, id outbox.StepID, steps state.HandlerSteps, step state.Step) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errStepEnded
	}
	c := s.cycle
	p, err := c.plan.StepPatch(c.view, steps, c.writes.Own)
	if err != nil {
		return err
	}
	ctx, cancel := core.WithGrace(ctx, patchTimeout) // the step has had its effect
	defer cancel()
	if err := c.sendStep(ctx, p, p); err != nil {
		c.memory.Outbox.KeepStep(id, step)
		c.view.NoteSteps(steps) // the outcome patch includes the result, because the API server may have stored it and only the answer was lost
		if core.IsFenced(err) {
			return err
		}
		return handlers.AsTemporary(fmt.Errorf("record the result: %w", err), recordAgain)
	}
	delete(c.memory.Outbox.Steps, id)
	c.view.NoteSteps(steps)
	// The handler has acted on this state of the object. If the object changes before the cause ends, an update from this state follows.
	hash := memory.HashEssence(c.plan.Cause.New)
	if c.memory.Handled == nil {
		c.memory.Handled = &memory.HandledStates{}
	}
	if _, seen := c.memory.Handled.Hashes[id.Handler]; !seen {
		c.memory.Handled.Note(id.Handler, c.object, hash)
	}
	return nil
}

// sendStep sends a patch with the record of a step.
func (c *cycle) sendStep(ctx context.Context, p, record *patch.Patch) error {
	result, err := outbox.SendPatch(ctx, c.deps, c.served.Resource, cmp.Or(c.view.Newest, c.object), p, true, c.subject.Logger, c.subject)
	answer, _ := result.Object.(*object.Object)
	if answer != nil {
		c.wrote(answer)
	}
	switch {
	case err != nil:
		return err
	case result.Gone:
		return errors.New("the object was deleted")
	case answer != nil:
		c.view.Recorded(record, answer)
	}
	return nil
}

// noteOutdated logs, once in each cycle, that a handler continues with the result of a step for an earlier state of the object.
func (c *cycle) noteOutdated(steps state.HandlerSteps, name string, step state.Step) error {
	hash, err := state.EssenceHash(c.plan.Cause.New)
	if err != nil || hash == step.Essence || steps.Outdated {
		return err
	}
	steps.Outdated = true
	c.view.NoteSteps(steps)
	c.subject.Logger.Info(fmt.Sprintf("Step %q of handler '%s' was called for an earlier state of the object; continuing with its result", name, steps.Handler),
		observe.EventKey, observe.LogStepOutdated)
	return nil
}
