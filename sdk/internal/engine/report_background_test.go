package engine

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/daemons"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// slowPost is a host whose daemons end at once, and send what they have done for long.
type slowPost struct{ sent chan struct{} }

func (slowPost) MayStart() bool { return true }
func (slowPost) Attempt(context.Context, *daemons.Task, int, time.Time) handlers.Outcome {
	return handlers.Outcome{Final: true}
}
func (p slowPost) Deliver(context.Context, *daemons.Task, handlers.Outcome) { <-p.sent }
func (slowPost) Ended(*daemons.Task)                                        {}
func (slowPost) Logger() *slog.Logger                                       { return slog.New(slog.DiscardHandler) }

func TestADaemonThatSendsTheLastItHasDoneIsDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry := &handlers.Registry{}
		h := &handlers.Handler{ID: "d", Family: handlers.Daemon, Selector: resources.Selector{Plural: "pods", Version: "v1"}}
		registry.Add(h)
		host := slowPost{make(chan struct{})}
		c := &cycle{
			server: &server{handlers: registry.ForResource(&resources.Resource{Version: "v1", Plural: "pods"})}, memory: &memory{}, cause: &handlers.Cause{}, object: &object.Object{},
		}
		r := &report{reporter: newReporter(inspect.NewHub(inspect.HubOptions{}), registry, makeIndices(registry))}
		r.besides(c)
		if state := r.handlers[0].State; state != inspect.PhaseNext {
			t.Errorf("before it is started, it is %s", state)
		}
		group := daemons.NewGroup(t.Context(), host, daemons.Settings{}, &object.Object{})
		c.memory.group.Store(group)
		group.Adjust([]*handlers.Handler{h})
		synctest.Wait()
		r.besides(c)
		if state := r.handlers[0].State; state != inspect.PhaseAlive {
			t.Errorf("while it runs, it is %s", state)
		}
		r.attempted(h, time.Now(), time.Second, handlers.Outcome{Final: true})
		for range 2 {
			r.besides(c)
			if state := r.handlers[0].State; state != inspect.PhaseDone {
				t.Errorf("after that, it is %s", state)
			}
			close(host.sent)
			synctest.Wait()
			host.sent = make(chan struct{})
		}
	})
}

func TestWhereDaemonsAndTimersStand(t *testing.T) {
	delayed, idle, plain := 30*time.Second, 50*time.Second, 10*time.Second
	daemon := &handlers.Handler{ID: "d", Family: handlers.Daemon}
	late := &handlers.Handler{ID: "d", Family: handlers.Daemon, InitialDelay: &delayed}
	resting := &handlers.Handler{ID: "t", Family: handlers.Timer, Interval: &plain, Idle: &idle}
	ticking := &handlers.Handler{ID: "t", Family: handlers.Timer, Interval: &plain}
	matches := func(h *handlers.Handler) handlers.Decision { return handlers.Decision{Handler: h, Selected: true} }
	called := inspect.HandlerState{Attempt: 1, State: inspect.PhaseTicking}
	broken := inspect.HandlerState{Attempt: 1, Error: &inspect.HandlerError{}}
	for name, test := range map[string]struct {
		before         inspect.HandlerState
		decision       handlers.Decision
		runs           bool
		deleting, over bool
		want           inspect.HandlerPhase
		next           time.Duration // 0 is none
	}{
		"a daemon that runs":                   {decision: matches(daemon), runs: true, want: inspect.PhaseAlive},
		"one that is to be started later":      {decision: matches(late), runs: true, want: inspect.PhaseNext, next: delayed},
		"one that is to be started":            {decision: matches(daemon), want: inspect.PhaseNext},
		"a timer that waits for rest":          {decision: matches(resting), runs: true, want: inspect.PhaseTicking, next: idle},
		"a timer between its ticks":            {before: called, decision: matches(ticking), runs: true, want: inspect.PhaseTicking, next: plain},
		"one that does not match":              {before: called, decision: handlers.Decision{Handler: ticking}, want: inspect.PhaseFiltered},
		"one that is over":                     {before: called, decision: matches(ticking), over: true, want: inspect.PhaseDone},
		"one that has failed":                  {before: broken, decision: matches(ticking), over: true, want: inspect.PhaseFailed},
		"one that has ended with its object":   {before: called, decision: matches(ticking), deleting: true, want: inspect.PhaseDone},
		"one that is not started for the rest": {decision: matches(daemon), deleting: true, want: inspect.PhaseFiltered},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				group := daemons.NewGroup(t.Context(), patientHost{}, daemons.Settings{}, &object.Object{})
				state := test.before
				var task *daemons.Task
				if test.runs {
					group.Adjust([]*handlers.Handler{test.decision.Handler})
					synctest.Wait()
					task = group.Tasks()[0]
				}
				stands(&state, test.decision, task, test.deleting, test.over)
				if state.State != test.want || state.Next.IsZero() != (test.next == 0) || test.next > 0 && time.Until(state.Next) != test.next {
					t.Errorf("it is %s until %s", state.State, time.Until(state.Next))
				}
				if (state.Why != nil) != (test.want == inspect.PhaseFiltered) {
					t.Errorf("it is %s because of %v", state.State, state.Why)
				}
				group.Wait(t.Context(), daemons.OperatorExiting)
			})
		})
	}
}

// patientHost is a host whose daemons run until they are asked to end, and whose ticks
// take no time.
type patientHost struct{ slowPost }

func (patientHost) Attempt(_ context.Context, task *daemons.Task, _ int, _ time.Time) handlers.Outcome {
	if task.Handler.Family == handlers.Daemon {
		<-task.Stopping()
	}
	return handlers.Outcome{Final: true}
}
func (patientHost) Deliver(context.Context, *daemons.Task, handlers.Outcome) {}
