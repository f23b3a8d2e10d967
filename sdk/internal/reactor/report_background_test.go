package reactor

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/background"
	"github.com/kopf-dev/kopf/sdk/internal/handler"
	"github.com/kopf-dev/kopf/sdk/internal/outcome"
	"github.com/kopf-dev/kopf/sdk/internal/resource"
	"github.com/kopf-dev/kopf/sdk/internal/wire"
)

// slowPost is a host whose daemons end at once, and send what they have done for long.
type slowPost struct{ sent chan struct{} }

func (slowPost) MayStart() bool { return true }
func (slowPost) Attempt(context.Context, *background.Task, int, time.Time) outcome.Outcome {
	return outcome.Outcome{Final: true}
}
func (p slowPost) Deliver(context.Context, *background.Task, outcome.Outcome) { <-p.sent }
func (slowPost) Ended(*background.Task)                                       {}
func (slowPost) Logger() *slog.Logger                                         { return slog.New(slog.DiscardHandler) }

func TestADaemonThatSendsTheLastItHasDoneIsDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry := &handler.Registry{}
		h := &handler.Handler{ID: "d", Family: handler.Daemon, Selector: resource.Selector{Plural: "pods", Version: "v1"}}
		registry.Add(h)
		host := slowPost{make(chan struct{})}
		c := &cycle{
			server: &server{handlers: registry.ForResource(&resource.Resource{Version: "v1", Plural: "pods"})}, memory: &memory{}, cause: &handler.Cause{},
		}
		r := &report{reporter: newReporter(inspect.NewHub(inspect.HubOptions{}), registry, makeIndices(registry))}
		r.besides(c)
		if state := r.handlers[0].State; state != inspect.PhaseNext {
			t.Errorf("before it is started, it is %s", state)
		}
		group := background.NewGroup(t.Context(), host, background.Settings{}, &wire.Object{})
		c.memory.group.Store(group)
		group.Adjust([]*handler.Handler{h})
		synctest.Wait()
		r.besides(c)
		if state := r.handlers[0].State; state != inspect.PhaseAlive {
			t.Errorf("while it runs, it is %s", state)
		}
		r.attempted(h, time.Now(), time.Second, outcome.Outcome{Final: true})
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
