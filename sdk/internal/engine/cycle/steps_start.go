package cycle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/engine/outbox"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

var errOtherRecords = errors.New("another process has changed the records of the object")

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
	newest, err := c.newestUnchanged(ctx)
	if newest == nil {
		return steps, c.abandonView(id.Handler, err)
	}
	at := cmp.Or(c.memory.Outbox.Steps[id].At, object.FormatTime(c.deps.Now()))
	started := steps.WithStarted(id.Name, at)
	p, err := c.plan.StepPatch(c.view, started, c.writes.Own)
	if err != nil {
		return steps, err
	}
	c.memory.Outbox.KeepStep(id, state.Step{At: at}) // the next attempt recognizes the start by its time if the answers are lost
	ctx, cancel := core.WithGrace(ctx, patchTimeout)
	defer cancel()
	switch err := c.sendStart(ctx, newest, p); {
	case err == nil:
		delete(c.memory.Outbox.Steps, id)
		c.view.NoteSteps(started)
		return started, nil
	case core.IsFenced(err):
		return steps, err
	case kube.Classify(err) == kube.Conflict:
		return steps, c.abandonView(id.Handler, nil)
	default:
		return steps, handlers.AsTemporary(fmt.Errorf("record the start: %w", err), recordAgain)
	}
}

// newestUnchanged returns the newest version of the object; nil if the object does not exist. A process with an old version must not
// call a step, and must write nothing of the old version, because another process has perhaps called the step. So if the operator's
// annotations differ, it returns errOtherRecords, and the newest version is handled next.
func (c *cycle) newestUnchanged(ctx context.Context) (*object.Object, error) {
	newest, err := c.deps.NewestVersion(ctx, c.served.Resource, c.object.Namespace, c.object.Name, c.object.UID)
	if newest == nil {
		return nil, err
	}
	switch tree, err := newest.Tree(); {
	case err != nil:
		return nil, err
	case !c.view.HasSameRecords(tree):
		c.memory.Found(newest, c.strictUntil())
		return nil, errOtherRecords
	}
	return newest, nil
}

// abandonView ends the attempt at a handler as if the operator stopped, so that it does not count. The object is handled again soon. The
// error is from [cycle.newestUnchanged].
func (c *cycle) abandonView(handler string, err error) error {
	c.view.DropSteps(handler)
	if err == nil || errors.Is(err, errOtherRecords) {
		c.postpone()
	} else {
		c.sent.again = recordAgain
		c.subject.Logger.Warn("Patching was postponed: the newest version cannot be read.", observe.EventKey, observe.LogPatchPostponed, "error", err)
	}
	return core.ErrStopping
}

// postpone makes the queue handle the object again soon, because it has changed meanwhile.
func (c *cycle) postpone() {
	c.sent.again = recordAgain
	c.subject.Logger.Debug("Patching was postponed: the object has changed meanwhile.", observe.EventKey, observe.LogPatchPostponed)
}

// sendStart sends or removes the start of a step for the newest version of the object only. If only the answer was lost, the version that
// follows has all of the patch.
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
	c.wrote(made)
	c.view.Recorded(p, made)
	return nil
}

// removeStarts removes the starts of steps without an effect from the object, after an attempt that does not count: then perhaps no
// patch with an outcome follows. If the API server does not accept the removal, or another process has changed the records meanwhile,
// the starts stay, and the next process regards the steps as unsure.
func (s *subhandlers) removeStarts(ctx context.Context) {
	c := s.cycle
	steps, used := c.view.UsedSteps(s.parent.ID)
	if !used {
		return
	}
	stored, left := c.view.StepStorage().Read(c.view.Stored, s.parent.ID).Started, false
	for name, at := range steps.Started {
		left = left || at == "" && stored[name] != ""
	}
	c.view.NoteSteps(steps.WithoutRemovals()) // a patch with the outcomes of other handlers is for any version
	if !left {
		return // the record of a later step has removed the starts
	}
	ctx, cancel := core.WithGrace(ctx, patchTimeout)
	defer cancel()
	newest, err := c.newestUnchanged(ctx)
	if newest == nil && err == nil {
		return // the object does not exist
	}
	if err == nil {
		var p *patch.Patch
		if p, err = c.plan.StepPatch(c.view, steps, c.writes.Own); err == nil {
			err = c.sendStart(ctx, newest, p)
		}
	}
	if err != nil {
		c.subject.Logger.Warn(fmt.Sprintf("Cannot remove the starts of the steps of handler '%s' that have had no effect", s.parent.ID),
			observe.EventKey, observe.LogPatchFailed, "error", err)
	}
}
