package e2e

import (
	"context"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopf/lifecycle"
)

func allAtOnce(s *kopf.Settings) { s.Execution.Lifecycle = lifecycle.AllAtOnce }

// The operator is paused while the first of several chosen handlers runs.
func TestLifecycle_PauseEndsChosenHandlers(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
	entered, proceed := make(chan struct{}), make(chan struct{})
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, func(context.Context, *change) error {
			c.add("one")
			close(entered)
			<-proceed
			return nil
		}, kopf.ID("one"))
		kopf.OnCreate(r, kexes, c.does("two"), kopf.ID("two"))
	}, settings(allAtOnce))
	x := cluster.Create(example("x"))
	<-entered
	op.Pause() // it has returned: the operator is paused
	close(proceed)
	x.WaitFor("the outcome of the first is recorded", func(o *kopf.Object) bool {
		return o.Get("metadata.annotations") != nil && len(o.Get("metadata.annotations").(tree)) > 1
	})
	c.are(t, "one") // the second one waits for the end of the pause
	op.Resume()
	c.wait(cluster, "two", 1)
	waitHandled(x)
	c.are(t, "one", "two")
}

// The operator stops while the first of several chosen handlers runs, which returns without an error when its
// context ends.
func TestLifecycle_StopEndsChosenHandlers(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
	entered := make(chan struct{})
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, func(ctx context.Context, _ *change) error {
			c.add("one")
			close(entered)
			<-ctx.Done()
			return nil
		}, kopf.ID("one"))
		kopf.OnCreate(r, kexes, func(ctx context.Context, _ *change) error {
			if ctx.Err() != nil {
				c.add("two (its context has ended)")
				return nil
			}
			c.add("two")
			return nil
		}, kopf.ID("two"))
	}, settings(allAtOnce), settings(func(s *kopf.Settings) { s.Queueing.ExitTimeout = 100 * time.Millisecond }))
	cluster.Create(example("x"))
	<-entered
	op.Stop()
	c.are(t, "one")
}
