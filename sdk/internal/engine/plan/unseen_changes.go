package plan

import (
	"fmt"
	"maps"
	"slices"

	"github.com/kopf-dev/kopf/sdk/internal/engine/memory"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

// While other handlers of the cause are retried, the object can change after a handler has succeeded. That handler would never see the change,
// because the changed state would become the last-handled one. So the operator remembers the state that each finished handler has seen. At the
// end of the cause, even if the object is back at its last-handled state, an update follows if it would call a handler that has not seen the
// newest state. The state whose update calls the most of these handlers becomes the last-handled one, the earliest of equals.

// rememberHandled records, for each handler that finished in this cycle, which state of the object it has seen. It records nothing if all
// handlers are done now, and no state was recorded before.
func (w *recorder) rememberHandled(final []string, allDone bool) {
	states := w.record.Handled
	if len(final) == 0 || allDone && states == nil {
		return
	}
	hash := memory.HashEssence(w.plan.Cause.New)
	if states == nil {
		states = &memory.HandledStates{}
		w.record.Handled = states
	}
	for _, id := range final {
		_, acted := states.Hashes[id] // one of the handler's steps has acted on an earlier state in this process
		if steps, _ := w.view.UsedSteps(id); !acted || !steps.Outdated {
			states.Note(id, w.situation.Object, hash)
		}
	}
}

// lastHandledState returns the version of the object and the essence to store as last handled. It sets Behind if an update must follow.
func (w *recorder) lastHandledState() (raw []byte, essence map[string]any, err error) {
	cause, states := w.plan.Cause, w.record.Handled
	raw, essence = w.situation.Object.Raw, cause.New
	if states == nil || cause.Deleted {
		return raw, essence, nil
	}
	hash := memory.HashEssence(essence)
	differs := func(seen uint64) bool { return seen != hash }
	if !slices.ContainsFunc(slices.Collect(maps.Values(states.Hashes)), differs) {
		return raw, essence, nil
	}
	most := 0 // number of handlers that an update from one of the versions calls for the unseen state
	for _, former := range states.Versions {
		tree, err := former.Tree()
		if err != nil {
			return nil, nil, fmt.Errorf("decode a version that was handled: %w", err)
		}
		old := w.view.essence(tree)
		update := *cause
		update.Reason, update.Initial, update.Old, update.Diff = handlers.ReasonUpdate, false, old, object.ComputeDiff(old, cause.New)
		if len(update.Diff) == 0 {
			continue
		}
		called := 0
		for _, h := range w.situation.Served.Handlers.Selected(handlers.Changing, &update) {
			if states.HasNotSeen(h.ID, hash) {
				called++
			}
		}
		if called > most {
			most, w.record.Behind, raw, essence = called, true, former.Raw, old
		}
	}
	return raw, essence, nil
}

// endReverted ends an unfinished cause if the object is at its last-handled state again: the change was reverted, or the cause was detected for
// an old version whose change is already handled. It also purges the records of an earlier process with an old version, because they must not
// count for the next cause.
func (w *recorder) endReverted() error {
	s, v := w.situation, w.view
	ongoing := s.Life.Unfinished || w.record.Handled != nil
	if w.plan.Cause.Reason != handlers.ReasonNoop || !ongoing && !state.HasRecords(v.Stored, v.Progress) {
		return nil
	}
	progress, err := v.ProgressOf(s.Served.Changing, s.Now)
	if err != nil {
		return err
	}
	if !ongoing && len(progress.Handlers()) == 0 {
		return nil // the records belong to other operators
	}
	if err := w.purge(progress); err != nil {
		return err
	}
	return w.storeLastHandled()
}
