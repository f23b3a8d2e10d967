package e2e

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

func TestAHandlerIsNotRepeatedWhenItsPatchIsRefused(t *testing.T) {
	w, c := newWorld(t), &calls{}
	op := w.run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, func(_ context.Context, r *change) error {
			c.add("create_1")
			r.Patch.Set("metadata.labels.bad", "no such label!")
			return nil
		}, kopf.ID("create_1"))
		kopf.OnCreate(r, kexes, c.does("create_2"), kopf.ID("create_2"))
	}, setup{settings: func(s *kopf.Settings) {
		s.Queueing.ErrorDelays = slices.Values([]time.Duration{time.Millisecond})
	}})
	w.create(example("x"))
	w.untilHandled("x")
	op.journal.wait(t, "are refused by the cluster: they are given up", 1)
	c.are(t, "create_1", "create_2")
}

func TestWhatWasDoneBeforeAnInterruptionIsRecorded(t *testing.T) {
	w, c := newWorld(t), &calls{}
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
	all := setup{settings: func(s *kopf.Settings) {
		s.Execution.Lifecycle = kopf.AllAtOnce
		s.Queueing.ExitTimeout = -1
	}}
	op := w.run(register, all)
	w.create(example("x"))
	<-running
	op.stop()
	w.run(register, all)
	w.untilHandled("x")
	c.are(t, "quick", "slow", "slow")
}
