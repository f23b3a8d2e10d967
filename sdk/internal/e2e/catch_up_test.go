package e2e

import (
	"context"
	"fmt"
	"testing"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

func TestCatchUp_NewObjectIsHandledBeforeTheListedOnes(t *testing.T) {
	const objects, workers = 200, 4
	for name, finalizer := range map[string]bool{"handled at once": false, "with a finalizer": true} {
		t.Run(name, func(t *testing.T) {
			cluster := newCluster(t)
			for i := range objects {
				cluster.Create(example(fmt.Sprintf("listed-%03d", i)))
			}
			called, release := make(chan string, 2*objects), make(chan struct{})
			received := make(chan bool, 100)
			op := cluster.Run(func(r *kopf.Registry) {
				kopf.OnCreate(r, kexes, func(ctx context.Context, c *change) error {
					called <- c.Name
					select {
					case <-release:
						return nil
					case <-ctx.Done():
						return ctx.Err()
					}
				}, kopf.ID("create"))
				kopf.NewIndex(r, kexes, func(_ context.Context, c *indexed) (map[string]bool, error) {
					if c.Name == "new" {
						received <- true // the stream queues it now
					}
					return nil, nil
				}, kopf.ID("received"))
				if finalizer {
					kopf.OnDelete(r, kexes, func(context.Context, *change) error { return nil }, kopf.ID("delete"))
				}
			}, settings(func(s *kopf.Settings) { s.Queueing.WorkerLimit = workers }))
			before := 0
			for range workers {
				receive(cluster, "the call for a listed object", called)
				before++
			}
			op.WaitInspect("the catch-up is shown", func(s *inspect.Snapshot) bool {
				c := s.Operator.CatchUp
				return c != nil && *c == inspect.CatchUp{Objects: objects}
			})
			cluster.Create(example("new"))
			receive(cluster, "the event of the new object", received)
			for {
				release <- struct{}{}
				if receive(cluster, "the call for the next object", called) == "new" {
					break
				}
				before++
			}
			close(release)
			op.WaitInspect("the catch-up ends", func(s *inspect.Snapshot) bool { return s.Operator.CatchUp == nil })
			if before > objects/4 {
				t.Errorf("%d of %d listed objects were handled before the new one", before, objects)
			}
		})
	}
}
