package observe

import (
	"slices"
	"sort"
	"strings"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

// stepChanged shows the state of a step of a running handler.
func (o *shown) stepChanged(e StepChanged) (known bool) {
	at := o.place(e.Handler)
	if at < 0 {
		at = o.insertSub(e.Handler.ID, inspect.PhaseRunning)
	}
	if at < 0 {
		return false
	}
	s, step := &o.Handlers[at], e.Step
	step.Name = e.Subject.Secrets.Text(step.Name)
	same := func(other inspect.Step) bool { return other.Name == step.Name }
	switch i := slices.IndexFunc(s.Steps, same); {
	case step.State == "":
		s.Steps = withoutSteps(s.Steps, same)
	case i < 0:
		s.Steps = append(slices.Clone(s.Steps), step)
	case s.Steps[i] == step:
		return false // the handler asks for a recorded step again
	default:
		s.Steps = slices.Clone(s.Steps)
		s.Steps[i] = step
	}
	return true
}

// showSteps shows the steps that are recorded on the object. Steps that could not be recorded are in no record. A step stays unknown or
// abandoned until its handler asks for it.
func (o *shown) showSteps(e Planned) {
	var unasked []inspect.Step
	for i := range o.Handlers {
		s := &o.Handlers[i]
		for _, step := range s.Steps {
			if step.State == inspect.StepUnknown || step.State == inspect.StepAbandoned {
				unasked = append(unasked, step)
			}
		}
		s.Steps = withoutSteps(s.Steps, func(step inspect.Step) bool { return step.State != inspect.StepUnrecorded })
	}
	for _, recorded := range e.Steps {
		at := o.index(recorded.Handler)
		if at < 0 {
			at = o.insertSub(recorded.Handler, inspect.PhaseNext)
		}
		if at >= 0 {
			s, steps := &o.Handlers[at], recordedSteps(recorded, e.Subject)
			for i := range steps {
				as := inspect.StepUnknown
				if steps[i].State == inspect.StepUnsure {
					as = inspect.StepAbandoned
				}
				if slices.ContainsFunc(unasked, func(step inspect.Step) bool { return step.Key == steps[i].Key && step.State == as }) {
					steps[i].State = as
				}
			}
			s.Steps = append(steps, withoutSteps(s.Steps, func(unrecorded inspect.Step) bool {
				return slices.ContainsFunc(steps, func(step inspect.Step) bool { return step.Name == unrecorded.Name }) // only the answer was lost
			})...)
		}
	}
}

// recordedSteps returns the steps of a record in the order of their calls.
func recordedSteps(recorded RecordedSteps, s *Subject) []inspect.Step {
	steps := make([]inspect.Step, 0, len(recorded.Steps))
	for _, name := range object.SortedKeys(recorded.Steps) {
		at, _ := object.ParseTime(recorded.Steps[name].At) // zero if another program has changed the record
		steps = append(steps, inspect.Step{
			Name: s.Secrets.Text(name), State: inspect.StepRecorded, At: at,
			Key: state.StepKey(s.Reference.UID, recorded.Handler, recorded.Turn, name), Once: recorded.Started[name] != "",
		})
	}
	for _, name := range object.SortedKeys(recorded.Started) {
		if _, ended := recorded.Steps[name]; ended {
			continue
		}
		at, _ := object.ParseTime(recorded.Started[name])
		steps = append(steps, inspect.Step{
			Name: s.Secrets.Text(name), State: inspect.StepUnsure, At: at,
			Key: state.StepKey(s.Reference.UID, recorded.Handler, recorded.Turn, name), Once: true,
		})
	}
	sort.SliceStable(steps, func(i, j int) bool { return steps[i].At.Before(steps[j].At) })
	return steps
}

// endSteps removes the steps of the handlers that have not failed. Their records are removed when the handling ends.
func (o *shown) endSteps() {
	for i := range o.Handlers {
		if s := &o.Handlers[i]; s.State != inspect.PhaseFailed {
			s.Steps = nil
		}
	}
}

// insertSub lists a sub-handler below its parent, before an attempt of the parent has recorded its progress. It returns the index;
// -1 if no handler is the parent.
func (o *shown) insertSub(id string, phase inspect.HandlerPhase) int {
	parent := -1
	for i := range o.Handlers {
		if h := &o.Handlers[i]; strings.HasPrefix(id, h.ID+"/") && groupOf(*h) == handlers.Changing && (parent < 0 || len(h.ID) > len(o.Handlers[parent].ID)) {
			parent = i
		}
	}
	if parent < 0 {
		return -1
	}
	above, at := o.Handlers[parent].ID, parent+1
	for at < len(o.Handlers) && strings.HasPrefix(o.Handlers[at].ID, above+"/") {
		at++
	}
	o.insert(at, inspect.HandlerState{ID: id, Kind: inspect.KindSub, Parent: above, State: phase})
	return at
}

// withoutSteps returns the steps without some. Readers may still have the list, so that it is not modified.
func withoutSteps(steps []inspect.Step, drop func(inspect.Step) bool) []inspect.Step {
	if !slices.ContainsFunc(steps, drop) {
		return steps
	}
	var rest []inspect.Step
	for i := range steps {
		if !drop(steps[i]) {
			rest = append(rest, steps[i])
		}
	}
	return rest
}
