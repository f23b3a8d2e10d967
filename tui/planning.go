package tui

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/kopf-dev/kopf/tui/parts"
)

// plannedMsg delivers a plan.
type plannedMsg struct {
	began time.Time
	plan  *parts.Plan
	err   error
}

// startPlan begins a plan in the background. The command only waits for it, so that the end of the workbench can wait for the plan also
// when the command never runs.
func (a *app) startPlan() tea.Cmd {
	g := a.screen.Planning
	if !g.Running.IsZero() {
		return nil
	}
	began := a.clock()
	ctx, cancel := context.WithCancel(a.ctx)
	g.Running, a.cancelPlan = began, cancel
	g.Step.Store(nil)
	done := make(chan tea.Msg, 1)
	a.plans.Go(func() {
		plan, err := a.opts.Plan(ctx, func(step string) { g.Step.Store(&step) })
		if ctx.Err() != nil {
			plan, err = nil, nil
		}
		cancel()
		done <- plannedMsg{began, plan, err}
	})
	return func() tea.Msg { return <-done }
}

// showPlan takes over a plan. A cancelled one keeps the plan before it.
func (a *app) showPlan(msg plannedMsg) {
	g := a.screen.Planning
	g.Running, g.Err, a.cancelPlan = time.Time{}, msg.err, nil
	switch {
	case msg.plan != nil && msg.plan.Incomplete:
		g.Plan, g.Began = msg.plan, msg.began
		a.toast.Refusal(a.screen.Now, "plan: "+msg.plan.Sentence)
	case msg.plan != nil:
		g.Plan, g.Began = msg.plan, msg.began
		a.toast.Success(a.screen.Now, "plan: "+msg.plan.Sentence)
	case msg.err != nil:
		a.toast.Failure(a.screen.Now, "no plan: "+msg.err.Error())
	default:
		a.toast.Note(a.screen.Now, "the plan was cancelled")
	}
	a.pages[parts.PlanPage].Refresh()
}

// endPlan cancels the plan that is being made.
func (a *app) endPlan() {
	if a.cancelPlan != nil {
		a.cancelPlan()
	}
}
