package e2e

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

func TestWhatHandlersHaveDoneIsRecordedWhenTheOperatorStops(t *testing.T) {
	w, c := newWorld(t), &calls{}
	started, proceed := make(chan struct{}), make(chan struct{})
	op := w.run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, func(_ context.Context, r *change) error {
			c.add("create_1")
			close(started)
			<-proceed
			r.Result = "done"
			return nil
		}, kopf.ID("create_1"))
		kopf.OnCreate(r, kexes, c.does("create_2"), kopf.ID("create_2"))
	})
	w.create(example("x"))
	<-started
	op.cancel()
	close(proceed)
	op.stop()
	w.run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, c.does("create_1"), kopf.ID("create_1"))
		kopf.OnCreate(r, kexes, c.does("create_2"), kopf.ID("create_2"))
	})
	if o := w.untilHandled("x"); o.Get("status.create_1") != "done" {
		t.Errorf("the status is %v", o.Get("status"))
	}
	c.are(t, "create_1", "create_2")
}

func TestAttemptsThatTheOperatorInterruptsDoNotCount(t *testing.T) {
	w, c := newWorld(t), &calls{}
	started := make(chan struct{})
	settings := func(s *kopf.Settings) { s.Queueing.ExitTimeout = 20 * time.Millisecond }
	op := w.run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, func(ctx context.Context, _ *change) error {
			c.add("interrupted")
			close(started)
			<-ctx.Done()
			return ctx.Err()
		}, kopf.ID("created"), kopf.Retries(1))
	}, setup{settings: settings})
	w.create(example("x"))
	<-started
	op.stop()
	again := w.run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, c.does("again"), kopf.ID("created"), kopf.Retries(1))
	})
	w.untilHandled("x")
	c.are(t, "interrupted", "again")
	again.journal.wait(t, "Creation is processed: 1 succeeded; 0 failed.", 1)
	for _, e := range op.journal.patches() {
		if strings.Contains(e.String(), "retries") {
			t.Errorf("recorded: %v", e)
		}
	}
}

func TestDelaysEndWithTheOperator(t *testing.T) {
	w, c := newWorld(t), &calls{}
	op := w.run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, c.fails("created", errHour), kopf.ID("created"))
	}, setup{settings: func(s *kopf.Settings) { s.Queueing.ExitTimeout = time.Hour }})
	w.create(example("x"))
	op.journal.wait(t, "(capped 600) seconds for the delayed handlers", 1)
	op.stop()
}

func TestWaitingForOwnWritesEndsWithTheOperator(t *testing.T) {
	w, c := newWorld(t), &calls{}
	op := w.run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, func(context.Context, *change) error {
			c.add("create_1")
			w.patch("x", tree{"metadata": tree{"annotations": tree{"others": "early"}}})
			return nil
		}, kopf.ID("create_1"))
		kopf.OnCreate(r, kexes, c.does("create_2"), kopf.ID("create_2"))
	}, setup{
		wrap: heldBack(func(line string) bool { return strings.Contains(line, `\"purpose\":`) }),
		settings: func(s *kopf.Settings) {
			s.Persistence.ConsistencyTimeout = time.Hour
			s.Queueing.ExitTimeout = time.Hour
		},
	})
	w.create(example("x"))
	op.journal.wait(t, "which the operator has written", 1)
	op.stop()
	c.are(t, "create_1")
}
