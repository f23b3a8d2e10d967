package e2e

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopf/lifecycle"
)

func TestAHandlerIsNotRepeatedWhenItsPatchIsRefused(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, func(_ context.Context, r *change) error {
			c.add("create_1")
			r.Patch.Set("metadata.labels.bad", "no such label!")
			return nil
		}, kopf.ID("create_1"))
		kopf.OnCreate(r, kexes, c.does("create_2"), kopf.ID("create_2"))
	}, settings(func(s *kopf.Settings) {
		s.Queueing.ErrorDelays = slices.Values([]time.Duration{time.Millisecond})
	}))
	x := cluster.Create(example("x"))
	waitHandled(x)
	op.WaitLog("are refused by the cluster: they are given up")
	c.are(t, "create_1", "create_2")
}

func TestWhatWasDoneBeforeAnInterruptionIsRecorded(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
	running := make(chan struct{})
	register := func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, c.does("quick"), kopf.ID("quick"))
		kopf.OnCreate(r, kexes, func(ctx context.Context, r *change) error {
			c.add("slow")
			if c.count("slow") > 1 {
				return nil
			}
			close(running)
			<-ctx.Done()
			return ctx.Err()
		}, kopf.ID("slow"))
	}
	all := settings(func(s *kopf.Settings) {
		s.Execution.Lifecycle = lifecycle.AllAtOnce
		s.Queueing.ExitTimeout = -1
	})
	op := cluster.Run(register, all)
	x := cluster.Create(example("x"))
	<-running
	op.Stop()
	cluster.Run(register, all)
	waitHandled(x)
	c.are(t, "quick", "slow", "slow")
}
