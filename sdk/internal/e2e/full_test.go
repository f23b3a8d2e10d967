package e2e

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

// callList are the calls of handlers, in order.
type callList struct {
	mu  sync.Mutex
	all []string
}

func (c *callList) add(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, what)
}

func (c *callList) list() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.all)
}

func (c *callList) is(want ...string) func() bool {
	return func() bool { return slices.Equal(c.list(), want) }
}

func (c *callList) handler(name string) func(context.Context, *kopf.Change[kopf.Object]) error {
	return func(context.Context, *kopf.Change[kopf.Object]) error {
		c.add(name)
		return nil
	}
}

// full is an object whose annotations leave less room than any mark needs.
func full(name string) tree {
	o := example(name)
	annotations := tree{"small": "x"}
	annotations["big"] = strings.Repeat("x", patch.MaxAnnotationsSize-len("smallxbig")-10)
	o["metadata"].(tree)["annotations"] = annotations
	return o
}

func TestAnObjectWithFullAnnotationsIsHandledAndDeleted(t *testing.T) {
	w := newWorld(t)
	w.create(full("full"))
	var c callList
	o := w.run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, c.handler("create 1"), kopf.ID("first"))
		kopf.OnCreate(r, kexes, func(ctx context.Context, ch *kopf.Change[kopf.Object]) error {
			c.add("create 2")
			if ch.Retry == 0 {
				return kopf.Temporaryf(50*time.Millisecond, "not yet")
			}
			return nil
		}, kopf.ID("second"))
		kopf.OnUpdate(r, kexes, func(_ context.Context, ch *kopf.Change[kopf.Object]) error {
			c.add("update " + ch.Diff.String())
			return nil
		}, kopf.ID("update"))
		kopf.OnDelete(r, kexes, c.handler("delete 1"), kopf.ID("bye"))
		kopf.OnDelete(r, kexes, c.handler("delete 2"), kopf.ID("farewell"))
	})
	created := []string{"create 1", "create 2", "create 2"}
	eventually(t, "the object is created", c.is(created...), func() any { return c.list() })
	o.journal.wait(t, "Creation is processed: 2 succeeded; 0 failed.", 1)

	w.patch("full", tree{"spec": tree{"field": "new"}})
	updated := append(created, "update [~spec.field=value→new]")
	eventually(t, "the object is updated", c.is(updated...), func() any { return c.list() })
	o.journal.wait(t, "Updating is processed", 1)

	w.delete("full")
	w.untilGone("full")
	if got := c.list(); !slices.Equal(got, append(updated, "delete 1", "delete 2")) {
		t.Errorf("got %q", got)
	}
	if n := o.journal.count("The annotations of the object are full"); n != 1 {
		t.Errorf("warned %d times", n)
	}
	if n := o.journal.count("The biggest annotations: big (262128 bytes), small (6 bytes)."); n != 1 {
		t.Errorf("the biggest annotations are not named:\n%s", o.journal.text())
	}
	if n := len(o.journal.patches()); n > 2 { // the finalizer
		t.Errorf("got %d requests:\n%v", n, o.journal.patches())
	}
}

func TestMarksAreWrittenOnceThereIsRoomForThem(t *testing.T) {
	w := newWorld(t)
	w.create(full("roomy"))
	var c callList
	o := w.run(func(r *kopf.Registry) { kopf.OnCreate(r, kexes, c.handler("create"), kopf.ID("create")) })
	o.journal.wait(t, "Creation is processed", 1)
	w.patch("roomy", tree{"metadata": tree{"annotations": tree{"big": nil}}})
	w.untilHandled("roomy")
	o.stop()

	again := w.run(func(r *kopf.Registry) { kopf.OnCreate(r, kexes, c.handler("create"), kopf.ID("create")) })
	again.stop()
	if got := c.list(); len(got) != 1 {
		t.Errorf("got %q", got)
	}
}

func TestAnObjectTooBigToBeRememberedIsHandledOnce(t *testing.T) {
	w := newWorld(t)
	big := example("big")
	big["spec"].(tree)["blob"] = strings.Repeat("x", patch.MaxAnnotationsSize)
	w.create(big)
	var c callList
	o := w.run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, c.handler("1"), kopf.ID("first"))
		kopf.OnCreate(r, kexes, c.handler("2"), kopf.ID("second"))
	})
	o.journal.wait(t, "Creation is processed", 1)
	w.patch("big", tree{"metadata": tree{"finalizers": []any{"example.com/nothing"}}})
	o.journal.wait(t, "the essence is the same", 1)
	w.patch("big", tree{"metadata": tree{"finalizers": nil}})
	if got := c.list(); !slices.Equal(got, []string{"1", "2"}) {
		t.Errorf("got %q", got)
	}
	if n := o.journal.count("none but the operator's own"); n != 0 {
		t.Errorf("the object has annotations of its own:\n%s", o.journal.text())
	}
}

func TestAnnotationsOfHandlersThatDoNotFitAreThrownAway(t *testing.T) {
	w := newWorld(t)
	w.create(full("greedy"))
	var c callList
	o := w.run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, func(_ context.Context, ch *kopf.Change[kopf.Object]) error {
			c.add("create")
			ch.Patch.Set("metadata.annotations.greedy", "too much for the rest")
			ch.Patch.Set("spec.field", "set")
			return nil
		}, kopf.ID("create"))
	})
	w.until("greedy", "is patched", func(o *kopf.Object) bool { return kopf.GetOr(o, "spec.field", "") == "set" })
	o.journal.wait(t, "are thrown away, since the object has no room for them: greedy.", 1)
	if got := c.list(); len(got) != 1 {
		t.Errorf("got %q", got)
	}
}
