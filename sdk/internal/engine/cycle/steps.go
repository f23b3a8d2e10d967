package cycle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/engine/memory"
	"github.com/kopf-dev/kopf/sdk/internal/engine/outbox"
	"github.com/kopf-dev/kopf/sdk/internal/engine/plan"
	"github.com/kopf-dev/kopf/sdk/internal/fence"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
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
	id := outbox.StepID{Handler: s.parent.ID, Name: name, Run: steps.Run}
	step := c.memory.Outbox.Steps[id]
	if step.Result == nil {
		if steps, step, err = s.call(ctx, steps, one); err != nil {
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
func (s *subhandlers) call(ctx context.Context, steps state.HandlerSteps, one handlers.StepCall) (state.HandlerSteps, state.Step, error) {
	c, name := s.cycle, one.Name
	id := outbox.StepID{Handler: s.parent.ID, Name: name, Run: steps.Run}
	if at := steps.Started[name]; one.Once && at != "" && at != c.memory.Outbox.Steps[id].At {
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
	failed := false // the function has returned an error; otherwise, its result cannot be recorded
	step, err := c.callStep(ctx, handlers.StepRef{Handler: s.parent.ID, Step: name}, func(ctx context.Context) ([]byte, error) {
		text, err := one.Do(ctx)
		failed = err != nil
		return text, err
	})
	if err == nil {
		return steps, step, nil
	}
	s.reportStep(steps, one, "")
	if !one.Once {
		return steps, step, err
	}
	if kind := handlers.ErrorKindOf(err); failed && (kind == handlers.KindTemporary || kind == handlers.KindPermanent) {
		steps = steps.WithStarted(name, "")
		c.view.NoteSteps(steps) // the patch with the outcome removes the start
		s.removeStart(ctx, steps, name, err)
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
				steps.Steps, turn = counted.Steps, counted.Turn
			}
		}
	}
	if len(steps.Steps) == 0 || !succeeded && !steps.Made {
		return
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

// recordStart records the start of a step before its call. The call begins here, also if the operator is asked to stop in between.
func (s *subhandlers) recordStart(ctx context.Context, steps state.HandlerSteps, id outbox.StepID) (state.HandlerSteps, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return steps, errStepEnded
	case !state.CanStart(id.Name):
		return steps, handlers.AsPermanent(errors.New("the name of a step that happens at most once has letters, digits, - and _ only"))
	}
	c := s.cycle
	newest, err := c.newestForStart(ctx, id.Handler)
	if err != nil {
		return steps, err
	}
	at := cmp.Or(c.memory.Outbox.Steps[id].At, object.FormatTime(c.deps.Now()))
	started := steps.WithStarted(id.Name, at)
	p, err := c.plan.StepPatch(c.view, started, c.writes.Own)
	if err != nil {
		return steps, err
	}
	c.memory.Outbox.KeepStep(id, state.Step{At: at}) // the next attempt recognizes the start by its time if the answers are lost
	switch err := c.sendStart(ctx, newest, p); {
	case err == nil:
		delete(c.memory.Outbox.Steps, id)
		c.view.NoteSteps(started)
		return started, nil
	case core.IsFenced(err):
		return steps, err
	case kube.Classify(err) == kube.Conflict:
		return steps, c.abandonView(id.Handler)
	default:
		return steps, handlers.AsTemporary(fmt.Errorf("record the start: %w", err), recordAgain)
	}
}

// newestForStart returns the newest version of the object. A process with an old version must not call the step, and must write nothing
// of the old version, because another process has perhaps called the step. So if the operator's annotations differ, the attempt ends, and
// does not count.
func (c *cycle) newestForStart(ctx context.Context, handler string) (*object.Object, error) {
	newest, err := c.deps.NewestVersion(ctx, c.served.Resource, c.object.Namespace, c.object.Name, c.object.UID)
	if err != nil || newest == nil {
		return nil, c.abandonView(handler)
	}
	tree, err := newest.Tree()
	if err != nil {
		return nil, err
	}
	if !c.view.HasSameRecords(tree) {
		c.memory.Ledger.Wrote(newest, c.deps.Now().Add(c.deps.Settings.ConsistencyTimeout))
		return nil, c.abandonView(handler)
	}
	return newest, nil
}

// abandonView ends the attempt at a handler as if the operator stopped, so that it does not count. The object is handled again soon.
func (c *cycle) abandonView(handler string) error {
	c.subject.Logger.Debug("Patching was postponed: the object has changed meanwhile.", observe.EventKey, observe.LogPatchPostponed)
	c.view.DropSteps(handler)
	c.sent.again = recordAgain
	return core.ErrStopping
}

// sendStart sends the start of a step for the newest version of the object only. If only the answer was lost, the version that follows has
// all of the patch.
func (c *cycle) sendStart(ctx context.Context, newest *object.Object, p *patch.Patch) error {
	pinned := patch.NewPatch()
	pinned.Append(p)
	pinned.Set(object.Path{"metadata", "resourceVersion"}, newest.ResourceVersion)
	err := c.sendStep(ctx, pinned, p)
	if err == nil || core.IsFenced(err) {
		return err
	}
	made, readErr := c.deps.NewestVersion(ctx, c.served.Resource, c.object.Namespace, c.object.Name, c.object.UID)
	if readErr != nil || made == nil {
		return err
	}
	tree, decodeErr := made.Tree()
	if decodeErr != nil || !reflect.DeepEqual(patch.Merged(tree, p.Tree()), tree) {
		return err
	}
	c.memory.Ledger.Wrote(made, c.deps.Now().Add(c.deps.Settings.ConsistencyTimeout))
	c.view.Recorded(p, made)
	return nil
}

// removeStart removes the start of a step without an effect from the object, if the attempt does not count: then no patch with the
// outcome follows. If the API server does not accept the removal, the next process regards the step as unsure.
func (s *subhandlers) removeStart(ctx context.Context, steps state.HandlerSteps, name string, why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.cycle
	if s.closed || c.plan.Cause.Context.Err() == nil && !core.IsFenced(why) {
		return
	}
	p, err := c.plan.StepPatch(c.view, steps, c.writes.Own)
	if err == nil {
		err = c.sendStep(ctx, p, p)
	}
	if err != nil {
		c.subject.Logger.Warn(fmt.Sprintf("Cannot remove the start of step %q of handler '%s', which has had no effect", name, s.parent.ID),
			observe.EventKey, observe.LogPatchFailed, "error", err)
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

// callStep calls the function of a step, and returns the record of the result.
func (c *cycle) callStep(ctx context.Context, ref handlers.StepRef, do func(context.Context) ([]byte, error)) (step state.Step, err error) {
	if step.Result, err = do(ctx); err != nil {
		return step, err
	}
	if err := plan.CheckStepResult(step.Result, c.subject.Secrets); err != nil {
		return step, err
	}
	step.At, step.Kept = object.FormatTime(c.deps.Now()), c.isUndone(ref)
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

// isUndone reports whether a deletion handler undoes a step of the cause. Only steps of creations can be undone, because an object
// is created once, so that the step has one result and one key.
func (c *cycle) isUndone(step handlers.StepRef) bool {
	undoes := func(h *handlers.Handler) bool { return h.Undoes != nil && *h.Undoes == step }
	return c.plan.Cause.Reason == handlers.ReasonCreate && c.served.Handlers.Any(handlers.Changing, undoes)
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
	states := c.memory.Handled
	if states == nil {
		states = &memory.HandledStates{First: c.object.Detached(), Hashes: map[string]uint64{}}
		c.memory.Handled = states
	}
	if _, seen := states.Hashes[id.Handler]; !seen {
		states.Hashes[id.Handler] = memory.HashEssence(c.plan.Cause.New)
	}
	return nil
}

// sendStep sends a patch with the record of a step, even after the context of the handler has ended, because the step has already had
// its effect.
func (c *cycle) sendStep(ctx context.Context, p, record *patch.Patch) error {
	ctx, cancel := withGrace(ctx, patchTimeout)
	defer cancel()
	result, err := outbox.SendPatch(ctx, c.deps, c.served.Resource, cmp.Or(c.view.Newest, c.object), p, true, c.subject.Logger, c.subject)
	if answer, _ := result.Object.(*object.Object); answer != nil {
		c.memory.Ledger.Wrote(answer, c.deps.Now().Add(c.deps.Settings.ConsistencyTimeout))
		if err == nil {
			c.view.Recorded(record, answer)
		}
	}
	switch {
	case err != nil:
		return err
	case result.Gone:
		return errors.New("the object was deleted")
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
