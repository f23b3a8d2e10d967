package plan

import (
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

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
