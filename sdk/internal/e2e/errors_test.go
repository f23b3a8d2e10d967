package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

func TestPanicsAreErrorsAsAnyOther(t *testing.T) {
	w, c := newWorld(t), &calls{}
	op := w.run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, func(_ context.Context, r *change) error {
			c.add("created")
			if r.Retry == 0 {
				var items []string
				c.add(items[r.Retry])
			}
			return nil
		}, kopf.ID("created"), kopf.Backoff(20*time.Millisecond))
		kopf.OnEvent(r, kexes, func(context.Context, *kopf.Event[kopf.Object]) error {
			panic(errors.New("watched badly"))
		}, kopf.ID("watched"))
	})
	w.create(example("x"))
	w.untilHandled("x")
	c.are(t, "created", "created")
	op.journal.wait(t, "Handler 'created' failed with an exception and will try again in 0.02 seconds: panic: runtime error: index out of range [0] with length 0", 1)
	op.journal.wait(t, "Handler 'watched' failed with an exception and will ignore it: panic: watched badly", 1)
	i := slices.IndexFunc(op.journal.all(), func(e entry) bool { return strings.Contains(e.attrs, "errors_test.go") })
	if i < 0 {
		t.Error("no stack shows where it was")
	}
}

func TestTimeoutsEndTheContextAndTheHandler(t *testing.T) {
	w, c := newWorld(t), &calls{}
	causes := make(chan error, 2)
	op := w.run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, func(ctx context.Context, _ *change) error {
			c.add("stuck")
			<-ctx.Done()
			causes <- context.Cause(ctx)
			return ctx.Err()
		}, kopf.ID("stuck"), kopf.Timeout(100*time.Millisecond))
		kopf.OnCreate(r, kexes, c.fails("late", kopf.Temporaryf(time.Hour, "not yet")), kopf.ID("late"), kopf.Timeout(time.Minute))
	})
	w.create(example("x"))
	w.untilHandled("x")
	c.are(t, "stuck", "late")
	if cause := <-causes; !errors.Is(cause, kopf.ErrTimeout) {
		t.Errorf("the context ended by %v", cause)
	}
	op.journal.wait(t, "Handler 'late' failed temporarily but will time out after 60 seconds: not yet", 1)
	op.journal.wait(t, "Creation is processed: 0 succeeded; 2 failed.", 1)
}

func TestErrorsAreRecognisedThroughWrapping(t *testing.T) {
	w, c := newWorld(t), &calls{}
	op := w.run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, c.fails("temporary", fmt.Errorf("outside: %w", kopf.Temporaryf(20*time.Millisecond, "inside"))), kopf.ID("temporary"), kopf.ErrorsPermanent)
		kopf.OnCreate(r, kexes, c.fails("permanent", errors.Join(errors.New("one"), kopf.Permanentf("two"))), kopf.ID("permanent"))
		kopf.OnCreate(r, kexes, c.fails("ignored", errors.New("three")), kopf.ID("ignored"), kopf.ErrorsIgnored)
	})
	w.create(example("x"))
	w.untilHandled("x")
	for id, want := range map[string]int{"temporary": 2, "permanent": 1, "ignored": 1} {
		if got := c.count(id); got != want {
			t.Errorf("%s was called %d times instead of %d", id, got, want)
		}
	}
	op.journal.wait(t, "Handler 'temporary' failed temporarily: outside: inside", 1)
	op.journal.wait(t, "Handler 'ignored' failed with an exception and will ignore it: three", 1)
	op.journal.wait(t, "Creation is processed: 2 succeeded; 1 failed.", 1)
}

func TestDefaultBackoffIsASetting(t *testing.T) {
	w, c := newWorld(t), &calls{}
	w.run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, c.fails("created", errors.New("once")), kopf.ID("created"))
	}, setup{settings: func(s *kopf.Settings) { s.Execution.DefaultBackoff = 20 * time.Millisecond }})
	w.create(example("x"))
	w.untilHandled("x")
	c.are(t, "created", "created")
}
