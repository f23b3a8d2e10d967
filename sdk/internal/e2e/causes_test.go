package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

var errHour = kopf.Temporaryf(time.Hour, "not yet")

func TestSupersededCausesLeaveNoProgress(t *testing.T) {
	w, c := newWorld(t), &calls{}
	op := w.run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, c.does("created"), kopf.ID("created"))
		kopf.OnUpdate(r, kexes, c.fails("stuck", errHour), kopf.ID("stuck"))
		kopf.OnUpdate(r, kexes, c.does("updated"), kopf.ID("updated"))
		kopf.OnDelete(r, kexes, c.does("deleted"), kopf.ID("deleted"))
	})
	object := example("x")
	object["metadata"].(tree)["finalizers"] = []any{"example.com/mine"} // to see what is left
	w.create(object)
	w.untilHandled("x")
	w.patch("x", tree{"spec": tree{"field": "changed"}})
	op.journal.wait(t, "Sleeping for 3", 1)
	w.delete("x")
	c.wait(t, "deleted", 1)
	left := w.until("x", "has no finalizer", func(o *kopf.Object) bool { return len(o.Get("metadata.finalizers").([]any)) == 1 })
	for key := range left.Get("metadata.annotations").(tree) {
		if key != lastHandled && key != "someannotation" {
			t.Errorf("%s is left", key)
		}
	}
	c.are(t, "created", "stuck", "updated", "deleted")
	op.journal.wait(t, "Updating is superseded by deletion: 1 succeeded; 0 failed; 1 left to the moment.", 1)
	op.journal.wait(t, "Deletion, but we are done with it, and we do not care.", 1)
	w.patch("x", tree{"metadata": tree{"finalizers": nil}})
	op.journal.wait(t, "Deleted, really deleted, and we are notified.", 1)
}

func TestObjectsThatNoFilterMatchesAreLeftAlone(t *testing.T) {
	w, c := newWorld(t), &calls{}
	op := w.run(func(r *kopf.Registry) {
		labels := kopf.Labels{"wanted": "yes"}
		kopf.OnCreate(r, kexes, c.does("created"), kopf.ID("created"), labels)
		kopf.OnUpdate(r, kexes, c.does("updated"), kopf.ID("updated"), labels)
		kopf.OnDelete(r, kexes, c.does("deleted"), kopf.ID("deleted"), labels)
	})
	w.create(example("x"))
	w.patch("x", tree{"spec": tree{"field": "changed"}})
	w.create(example("y"))
	w.delete("y")
	w.patch("x", tree{"metadata": tree{"labels": tree{"wanted": "yes"}}})
	w.untilHandled("x") // it is as good as created
	c.are(t, "created")
	for _, e := range op.journal.all() {
		if strings.HasSuffix(e.object, "/y") || strings.HasSuffix(e.path, "/y") {
			t.Errorf("about what is of no interest: %v", e)
		}
	}
	if first := op.journal.patches()[0]; first.patch != "json" {
		t.Errorf("the first request is %v", first)
	}
	// And once it is of no interest any more, it is free.
	w.patch("x", tree{"metadata": tree{"labels": tree{"wanted": nil}}})
	w.until("x", "has no finalizer", func(o *kopf.Object) bool { return o.Get("metadata.finalizers") == nil })
	w.delete("x")
	w.untilGone("x")
	c.are(t, "created")
}

func TestResumingMixesIntoDeletionsOnlyIfAskedTo(t *testing.T) {
	w, c := newWorld(t), &calls{}
	register := func(r *kopf.Registry) {
		kopf.OnResume(r, kexes, c.does("resumed"), kopf.ID("resumed"))
		kopf.OnResume(r, kexes, c.does("resumed even then"), kopf.ID("resumed_even_then"), kopf.Deleted())
		kopf.OnDelete(r, kexes, c.does("deleted"), kopf.ID("deleted"))
	}
	object := example("x")
	object["metadata"].(tree)["finalizers"] = []any{finalizer}
	w.create(object)
	w.delete("x")
	w.run(register)
	w.untilGone("x")
	c.are(t, "resumed even then", "deleted")
}

func TestResumingDoesNotFollowACreationThatWasContinued(t *testing.T) {
	w, c := newWorld(t), &calls{}
	register := func(r *kopf.Registry) {
		kopf.OnResume(r, kexes, c.does("resumed"), kopf.ID("resumed"))
		kopf.OnCreate(r, kexes, c.fails("created", kopf.Temporaryf(200*time.Millisecond, "later")), kopf.ID("created"))
	}
	op := w.run(register)
	w.create(example("x"))
	c.wait(t, "created", 1)
	op.stop()
	again := w.run(register)
	w.untilHandled("x")
	again.journal.wait(t, "we are not interested", 1)
	c.are(t, "created", "created")
	again.stop()
	w.run(register)
	c.wait(t, "resumed", 1)
}

func TestRetriesAreCountedAcrossRestarts(t *testing.T) {
	w, c := newWorld(t), &calls{}
	attempts := make(chan int, 10)
	register := func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, func(_ context.Context, r *change) error {
			c.add("created")
			attempts <- r.Retry
			return errors.New("never")
		}, kopf.ID("created"), kopf.Retries(3), kopf.Backoff(300*time.Millisecond))
	}
	op := w.run(register)
	w.create(example("x"))
	c.wait(t, "created", 1)
	op.stop()
	op = w.run(register)
	c.wait(t, "created", 2)
	op.stop()
	op = w.run(register)
	w.untilHandled("x")
	op.journal.wait(t, "Creation is processed: 0 succeeded; 1 failed.", 1)
	c.are(t, "created", "created", "created")
	for want := range 3 {
		if got := <-attempts; got != want {
			t.Errorf("attempt %d says that it is %d", want, got)
		}
	}
}

func TestAChangeDuringAnUnfinishedCreationIsPartOfIt(t *testing.T) {
	w, c := newWorld(t), &calls{}
	w.run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, func(_ context.Context, r *change) error {
			field := kopf.GetOr(r.Body, "spec.field", "")
			c.add("created with " + field)
			if field == "value" {
				return errHour
			}
			return nil
		}, kopf.ID("created"), kopf.Backoff(0))
		kopf.OnCreate(r, kexes, c.fails("other", kopf.Temporaryf(300*time.Millisecond, "later")), kopf.ID("other"))
		kopf.OnUpdate(r, kexes, c.does("updated"), kopf.ID("updated"))
	})
	w.create(example("x"))
	c.wait(t, "created with value", 1)
	w.patch("x", tree{"spec": tree{"field": "changed"}})
	c.wait(t, "other", 2)
	if got := c.all(); c.count("updated") > 0 || len(got) != 3 {
		t.Errorf("called: %v", got)
	}
	o := w.get("x")
	if o.Get("metadata.annotations").(tree)[lastHandled] != nil {
		t.Error("it is handled before the creation is done")
	}
}

func TestOptionalDeletionsDoNotBlock(t *testing.T) {
	w, c := newWorld(t), &calls{}
	w.run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, c.does("created"), kopf.ID("created"))
		kopf.OnDelete(r, kexes, c.does("deleted"), kopf.ID("deleted"), kopf.Optional())
	})
	w.create(example("x"))
	if o := w.untilHandled("x"); o.Get("metadata.finalizers") != nil {
		t.Error("there is a finalizer")
	}
	w.delete("x")
	w.untilGone("x")
	c.are(t, "created")
}

func TestAFunctionIsCalledOncePerID(t *testing.T) {
	w, c := newWorld(t), &calls{}
	fn := func(_ context.Context, r *change) error {
		c.add(fmt.Sprint(r.Reason, " ", r.Param))
		return nil
	}
	op := w.run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, fn, kopf.ID("same"), kopf.Param("first"))
		kopf.OnCreate(r, kopf.Resource("kopf.dev", "kopfexamples"), fn, kopf.ID("same"), kopf.Param("repeated"))
		kopf.OnCreate(r, kexes, fn, kopf.ID("other"), kopf.Param("second"))
		kopf.OnUpdate(r, kexes, fn, kopf.ID("same"), kopf.Param("third"))
		kopf.OnResume(r, kexes, fn, kopf.ID("same"), kopf.Param("fourth"))
	})
	w.create(example("x"))
	w.untilHandled("x")
	c.are(t, "create first", "create second")
	op.stop()
	// Resuming and updating meet: the function is called once for both.
	w.patch("x", tree{"spec": tree{"field": "changed"}})
	w.run(func(r *kopf.Registry) {
		kopf.OnUpdate(r, kexes, fn, kopf.ID("same"), kopf.Param("third"))
		kopf.OnResume(r, kexes, fn, kopf.ID("same"), kopf.Param("fourth"))
	})
	w.untilHandled("x")
	c.are(t, "create first", "create second", "update third")
}

func TestSubHandlersNestAndAreRememberedOnTheirOwn(t *testing.T) {
	w, c := newWorld(t), &calls{}
	op := w.run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, func(ctx context.Context, r *change) error {
			c.add("top")
			for _, item := range r.Body.Get("spec.items").([]any) {
				id := item.(string)
				r.Sub(id, func(_ context.Context, r *change) error {
					c.add(id)
					r.Sub("x", c.fails(id+"/x", kopf.Temporaryf(0, "again")))
					r.Sub("y", func(_ context.Context, r *change) error {
						c.add(id + "/y")
						r.Result = tree{"done": id}
						return nil
					})
					return nil
				})
			}
			r.Sub("failing", func(context.Context, *change) error {
				c.add("failing")
				return errors.New("no")
			}, kopf.ErrorsPermanent)
			if err := r.Execute(ctx); err != nil {
				return err
			}
			c.add("after all")
			r.Result = "done"
			return nil
		}, kopf.ID("top"))
	})
	w.create(example("x"))
	o := w.untilHandled("x")
	op.journal.wait(t, "we are not interested", 1)
	for id, want := range map[string]int{
		"item1/x": 2, "item1/y": 1, "item2/x": 2, "item2/y": 1, "failing": 1, "after all": 1,
	} {
		if got := c.count(id); got != want {
			t.Errorf("%s was called %d times instead of %d", id, got, want)
		}
	}
	for key := range o.Get("metadata.annotations").(tree) {
		if key != lastHandled && key != "someannotation" {
			t.Errorf("%s is left", key)
		}
	}
	status := w.until("x", "has all results", func(o *kopf.Object) bool { return o.Get("status.top") == "done" }).Get("status").(tree)
	if y, _ := status["top/item2/y"].(tree); y["done"] != "item2" {
		t.Errorf("status: %v", status)
	}
	op.journal.wait(t, "Handler 'top/failing' failed with an exception and will stop now: no", 1)
	var subrefs bool
	for _, e := range op.journal.patches() {
		subrefs = subrefs || strings.Contains(e.String(), `subrefs\":[\"top/failing\",\"top/item1\",\"top/item1/x\",\"top/item1/y\"`)
	}
	if !subrefs {
		t.Errorf("the sub-handlers were never noted:\n%v", op.journal.patches())
	}
}
