package e2e

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/testcluster"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

// tally is what the handlers of an object share.
type tally struct {
	mu   sync.Mutex
	seen []string
}

func (t *tally) add(what string) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seen = append(t.seen, what)
	slices.Sort(t.seen)
	t.seen = slices.Compact(t.seen)
	return slices.Clone(t.seen)
}

func TestTheHandlersOfAnObjectShareItsMemo(t *testing.T) {
	w := newWorld(t)
	w.run(func(reg *kopf.Registry) {
		kopf.OnEvent(reg, kexes, func(_ context.Context, e *kopf.Event[kopf.Object]) error {
			kopf.MemoOf[tally](e.Memo).add("event " + string(e.UID))
			return nil
		}, kopf.ID("event"))
		kopf.OnCreate(reg, kexes, func(_ context.Context, c *change) error {
			kopf.MemoOf[tally](c.Memo).add("create " + string(c.UID))
			return nil
		}, kopf.ID("create"), kopf.When(func(r *kopf.Request) bool {
			kopf.MemoOf[tally](r.Memo).add("filter " + string(r.UID))
			return true
		}))
		kopf.Daemon(reg, kexes, func(_ context.Context, d *run) error {
			kopf.MemoOf[tally](d.Memo).add("daemon " + string(d.UID))
			<-d.Stopping()
			return nil
		}, kopf.ID("daemon"))
		kopf.Timer(reg, kexes, func(_ context.Context, c *tick) error {
			seen := kopf.MemoOf[tally](c.Memo).add("timer " + string(c.UID))
			c.Patch.Set("status.seen", seen)
			return nil
		}, kopf.ID("timer"), kopf.Interval(5*time.Millisecond))
	})
	for range 2 { // the second time, it is another object
		w.create(example("x"))
		uid, _ := w.get("x").Get("metadata.uid").(string)
		var want []any
		for _, who := range []string{"create", "daemon", "event", "filter", "timer"} {
			want = append(want, who+" "+uid)
		}
		w.until("x", "is seen by all", func(o *kopf.Object) bool { return slices.Equal(fmtAll(o.Get("status.seen")), fmtAll(want)) })
		w.delete("x")
		w.untilGone("x")
	}
}

func fmtAll(values any) (out []string) {
	list, _ := values.([]any)
	for _, v := range list {
		out = append(out, fmt.Sprint(v))
	}
	return out
}

func TestOperatorsOfOneProgramHaveNothingInCommon(t *testing.T) {
	w := newWorld(t)
	type greeting struct{ text string }
	var wg sync.WaitGroup
	stops := map[string]context.CancelFunc{}
	for _, name := range []string{"one", "two"} {
		op := &kopf.Operator{
			Registry: &kopf.Registry{}, Namespaces: []string{w.ns}, Config: testcluster.Config(t), Logger: slog.New(newJournal()),
		}
		prefix := name + ".kopf.dev"
		op.Settings.Persistence.Finalizer = prefix + "/finalizer"
		op.Settings.Persistence.ProgressStorage = kopf.AnnotationsProgress{Prefix: prefix}
		op.Settings.Persistence.DiffBaseStorage = kopf.AnnotationsDiffBase{Prefix: prefix}
		kopf.MemoOf[greeting](&op.Memo).text = "hello from " + name
		kopf.OnCreate(op.Registry, kexes, func(_ context.Context, c *change) error {
			c.Result = kopf.MemoOf[greeting](c.Memo).text
			return nil
		}, kopf.ID("greet-"+name))
		kopf.Daemon(op.Registry, kexes, func(ctx context.Context, _ *run) error {
			<-ctx.Done()
			return ctx.Err()
		}, kopf.ID("stay-"+name))
		ready := make(chan struct{})
		op.OnReady = func() { close(ready) }
		ctx, stop := context.WithCancel(t.Context())
		stops[name] = stop
		wg.Go(func() {
			if err := op.Run(ctx); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
		select {
		case <-ready:
		case <-time.After(patience):
			t.Fatal("it is not ready")
		}
	}
	greeted := func(o *kopf.Object, who string) bool { return o.Get("status.greet-"+who) == "hello from "+who }
	w.create(example("x"))
	w.until("x", "is greeted by both", func(o *kopf.Object) bool { return greeted(o, "one") && greeted(o, "two") })
	stops["one"]()
	w.create(example("y"))
	w.until("y", "is greeted by the other", func(o *kopf.Object) bool { return greeted(o, "two") })
	if greeted(w.get("y"), "one") {
		t.Error("an operator that was stopped goes on")
	}
	stops["two"]()
	wg.Wait()
}

func TestAnOperatorCanBeRunAgain(t *testing.T) {
	w, r := newWorld(t), newRoster()
	op := &kopf.Operator{
		Registry: &kopf.Registry{}, Namespaces: []string{w.ns}, Config: testcluster.Config(t), Logger: slog.New(newJournal()),
	}
	kopf.Daemon(op.Registry, kexes, r.daemon("d", 0), kopf.ID("d"))
	w.create(example("x"))
	for life := range 3 {
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- op.Run(ctx) }()
		r.until(t, "d x", 1, life+1)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		r.until(t, "d x", 0, life+1)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := op.Run(ctx); err != nil {
		t.Errorf("an operator that is told to stop ahead of its start: %v", err)
	}
	if err := (&kopf.Operator{}).Run(t.Context()); !errors.Is(err, kopf.ErrRegistration) {
		t.Errorf("an operator with nothing: %v", err)
	}
	r.neverTwice(t)
}
