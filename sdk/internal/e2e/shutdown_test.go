package e2e

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopf/lifecycle"
)

func TestShutdown_RecordsFinishedHandlersOfCycle(t *testing.T) {
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

func TestShutdown_RecordsRunningHandler(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
	started, proceed := make(chan struct{}), make(chan struct{})
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, func(_ context.Context, r *change) error {
			c.add("create_1")
			close(started)
			<-proceed
			r.Result = "done"
			return nil
		}, kopf.ID("create_1"))
		kopf.OnCreate(r, kexes, c.does("create_2"), kopf.ID("create_2"))
	})
	x := cluster.Create(example("x"))
	<-started
	if err := op.Inspector().Do(t.Context(), inspect.Intent{Kind: inspect.IntentStop}); err != nil {
		t.Fatal(err)
	}
	close(proceed)
	if err := op.WaitEnd(); err != nil {
		t.Error(err)
	}
	cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, c.does("create_1"), kopf.ID("create_1"))
		kopf.OnCreate(r, kexes, c.does("create_2"), kopf.ID("create_2"))
	})
	if o := waitHandled(x); o.Get("status.create_1") != "done" {
		t.Errorf("the status is %v", o.Get("status"))
	}
	c.are(t, "create_1", "create_2")
}

func TestShutdown_InterruptedAttemptDoesNotCount(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
	started := make(chan struct{})
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, func(ctx context.Context, _ *change) error {
			c.add("interrupted")
			close(started)
			<-ctx.Done()
			return ctx.Err()
		}, kopf.ID("created"), kopf.Attempts(1))
	}, settings(func(s *kopf.Settings) { s.Queueing.ExitTimeout = 20 * time.Millisecond }), logPatches)
	x := cluster.Create(example("x"))
	<-started
	op.Stop()
	again := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, c.does("again"), kopf.ID("created"), kopf.Attempts(1))
	})
	waitHandled(x)
	c.are(t, "interrupted", "again")
	again.WaitLog("Creation is processed: 1 succeeded; 0 failed.")
	for _, e := range patchesOf(op) {
		if strings.Contains(e.String(), "retries") {
			t.Errorf("recorded: %v", e)
		}
	}
}

func TestShutdown_EndsDelays(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, c.fails("created", errHour), kopf.ID("created"))
	}, settings(func(s *kopf.Settings) { s.Queueing.ExitTimeout = time.Hour }))
	cluster.Create(example("x"))
	op.WaitLog("(capped 600) seconds for the delayed handlers")
	op.Stop()
}
