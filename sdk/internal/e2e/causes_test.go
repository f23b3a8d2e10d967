package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

var errHour = kopf.Temporaryf(time.Hour, "not yet")

func TestCause_SupersededOneLeavesNoProgress(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, c.does("created"), kopf.ID("created"))
		kopf.OnUpdate(r, kexes, c.fails("stuck", errHour), kopf.ID("stuck"))
		kopf.OnUpdate(r, kexes, c.does("updated"), kopf.ID("updated"))
		kopf.OnDelete(r, kexes, c.does("deleted"), kopf.ID("deleted"))
	})
	object := example("x")
	object["metadata"].(tree)["finalizers"] = []any{"example.com/mine"} // keeps the object for the test
	cluster.Create(object)
	waitHandled(cluster.Object(kex.name(), "x"))
	cluster.Object(kex.name(), "x").Patch(field("changed"))
	op.WaitLog("Sleeping for 3")
	cluster.Object(kex.name(), "x").Delete()
	c.wait(cluster, "deleted", 1)
	left := cluster.Object(kex.name(), "x").WaitFor("it has no finalizer", func(o *kopf.Object) bool { return len(o.Get("metadata.finalizers").([]any)) == 1 })
	for key := range left.Get("metadata.annotations").(tree) {
		if key != lastHandled && key != "someannotation" {
			t.Errorf("%s is left", key)
		}
	}
	c.are(t, "created", "stuck", "updated", "deleted")
	op.WaitLog("Updating is superseded by deletion: 1 succeeded; 0 failed; 1 left to the moment.")
	op.WaitLog("Deletion, but we are done with it, and we do not care.")
	cluster.Object(kex.name(), "x").Patch(tree{"metadata": tree{"finalizers": nil}})
	op.WaitLog("Deleted, really deleted, and we are notified.")
}

func TestCause_UnmatchedObjectIsNotTouched(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
	op := cluster.Run(func(r *kopf.Registry) {
		labels := kopf.Labels{"wanted": "yes"}
		kopf.OnCreate(r, kexes, c.does("created"), kopf.ID("created"), labels)
		kopf.OnUpdate(r, kexes, c.does("updated"), kopf.ID("updated"), labels)
		kopf.OnDelete(r, kexes, c.does("deleted"), kopf.ID("deleted"), labels)
	}, logPatches)
	x := cluster.Create(example("x"))
	x.Patch(field("changed"))
	y := cluster.Create(example("y"))
	y.Delete()
	x.Patch(tree{"metadata": tree{"labels": tree{"wanted": "yes"}}})
	waitHandled(x) // it is as good as created
	c.are(t, "created")
	for _, e := range op.LogEntries() {
		if strings.HasSuffix(e.Object, "/y") || strings.HasSuffix(attr(e, "path"), "/y") {
			t.Errorf("about what is of no interest: %v", e)
		}
	}
	if first := patchesOf(op)[0]; attr(first, "kind") != "json" {
		t.Errorf("the first request is %v", first)
	}
	// Once the filter no longer matches, the finalizer is removed.
	x.Patch(tree{"metadata": tree{"labels": tree{"wanted": nil}}})
	x.WaitFor("it has no finalizer", func(o *kopf.Object) bool { return o.Get("metadata.finalizers") == nil })
	x.Delete()
	x.WaitGone()
	c.are(t, "created")
}

func TestResume_JoinsDeletionOnlyIfAsked(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
	register := func(r *kopf.Registry) {
		kopf.OnResume(r, kexes, c.does("resumed"), kopf.ID("resumed"))
		kopf.OnResume(r, kexes, c.does("resumed even then"), kopf.ID("resumed_even_then"), kopf.IncludeDeleting())
		kopf.OnDelete(r, kexes, c.does("deleted"), kopf.ID("deleted"))
	}
	object := example("x")
	object["metadata"].(tree)["finalizers"] = []any{finalizer}
	cluster.Create(object)
	cluster.Object(kex.name(), "x").Delete()
	cluster.Run(register)
	cluster.Object(kex.name(), "x").WaitGone()
	c.are(t, "resumed even then", "deleted")
}

func TestResume_NotAfterContinuedCreation(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
	var stopped atomic.Bool
	register := func(r *kopf.Registry) {
		kopf.OnResume(r, kexes, c.does("resumed"), kopf.ID("resumed"))
		kopf.OnCreate(r, kexes, func(ctx context.Context, r *change) error {
			if r.Retry > 0 && !stopped.Load() {
				return kopf.Temporaryf(200*time.Millisecond, "the first operator has not stopped yet")
			}
			return c.fails("created", kopf.Temporaryf(200*time.Millisecond, "later"))(ctx, r)
		}, kopf.ID("created"))
	}
	op := cluster.Run(register)
	x := cluster.Create(example("x"))
	c.wait(cluster, "created", 1)
	op.Stop()
	stopped.Store(true)
	again := cluster.Run(register)
	waitHandled(x)
	again.WaitLog("we are not interested")
	c.are(t, "created", "created")
	again.Stop()
	cluster.Run(register)
	c.wait(cluster, "resumed", 1)
}

func TestRetry_CountedAcrossRestarts(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
	attempts := make(chan int, 10)
	register := func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, func(_ context.Context, r *change) error {
			c.add("created")
			attempts <- r.Retry
			return errors.New("never")
		}, kopf.ID("created"), kopf.Attempts(3), kopf.RetryDelay(5*time.Second)) // an operator stops before the next attempt
	}
	op := cluster.Run(register)
	x := cluster.Create(example("x"))
	c.wait(cluster, "created", 1)
	op.Stop()
	op = cluster.Run(register)
	c.wait(cluster, "created", 2)
	op.Stop()
	op = cluster.Run(register)
	waitHandled(x)
	op.WaitLog("Creation is processed: 0 succeeded; 1 failed.")
	c.are(t, "created", "created", "created")
	for want := range 3 {
		if got := <-attempts; got != want {
			t.Errorf("attempt %d says that it is %d", want, got)
		}
	}
}

func TestCause_ChangeDuringCreationIsPartOfIt(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
	cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, func(_ context.Context, r *change) error {
			field := kopf.GetOr(r.Body, "spec.field", "")
			c.add("created with " + field)
			if field == "value" {
				return errHour
			}
			return nil
		}, kopf.ID("created"), kopf.RetryDelay(0))
		kopf.OnCreate(r, kexes, c.fails("other", kopf.Temporaryf(300*time.Millisecond, "later")), kopf.ID("other"))
		kopf.OnUpdate(r, kexes, c.does("updated"), kopf.ID("updated"))
	})
	x := cluster.Create(example("x"))
	c.wait(cluster, "created with value", 1)
	x.Patch(field("changed"))
	c.wait(cluster, "other", 2)
	if got := c.all(); c.count("updated") > 0 || len(got) != 3 {
		t.Errorf("called: %v", got)
	}
	o := x.Get()
	if o.Get("metadata.annotations").(tree)[lastHandled] != nil {
		t.Error("it is handled before the creation is done")
	}
}

func TestFinalizer_NotForOptionalDeletionHandlers(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
	cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, c.does("created"), kopf.ID("created"))
		kopf.OnDelete(r, kexes, c.does("deleted"), kopf.ID("deleted"), kopf.WithoutFinalizer())
	})
	x := cluster.Create(example("x"))
	if o := waitHandled(x); o.Get("metadata.finalizers") != nil {
		t.Error("there is a finalizer")
	}
	x.Delete()
	x.WaitGone()
	c.are(t, "created")
}

func TestCause_FunctionIsCalledOncePerID(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
	fn := func(_ context.Context, r *change) error {
		c.add(fmt.Sprint(r.Reason, " ", r.Param))
		return nil
	}
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, fn, kopf.ID("same"), kopf.Param("first"))
		kopf.OnCreate(r, kopf.Resource("kopf.dev", "kopfexamples"), fn, kopf.ID("same"), kopf.Param("repeated"))
		kopf.OnCreate(r, kexes, fn, kopf.ID("other"), kopf.Param("second"))
		kopf.OnUpdate(r, kexes, fn, kopf.ID("same"), kopf.Param("third"))
		kopf.OnResume(r, kexes, fn, kopf.ID("same"), kopf.Param("fourth"))
	})
	x := cluster.Create(example("x"))
	waitHandled(x)
	c.are(t, "create first", "create second")
	op.Stop()
	// Resuming and updating meet: the function is called once for both.
	x.Patch(field("changed"))
	cluster.Run(func(r *kopf.Registry) {
		kopf.OnUpdate(r, kexes, fn, kopf.ID("same"), kopf.Param("third"))
		kopf.OnResume(r, kexes, fn, kopf.ID("same"), kopf.Param("fourth"))
	})
	waitHandled(x)
	c.are(t, "create first", "create second", "update third")
}

func TestCause_FunctionIsCalledByFirstMatchingRegistration(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
	fn := func(_ context.Context, r *change) error {
		c.add(fmt.Sprint(r.Name, " ", r.Param))
		return nil
	}
	cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, fn, kopf.ID("same"), kopf.Param("gold"), kopf.Labels{"tier": "gold"})
		kopf.OnCreate(r, kexes, fn, kopf.ID("same"), kopf.Param("any"), kopf.Labels{"tier": kopf.Present})
		kopf.OnUpdate(r, kexes, fn, kopf.ID("same"), kopf.Param("reached"), kopf.Field("spec.field"), kopf.To("there"))
		kopf.OnUpdate(r, kexes, fn, kopf.ID("same"), kopf.Param("left"), kopf.Field("spec.field"), kopf.From("there"))
	})
	x := cluster.Create(tierOf("x", "gold"))
	waitHandled(x)
	waitHandled(cluster.Create(tierOf("y", "silver")))
	x.Patch(field("there"))
	c.wait(cluster, "x reached", 1)
	x.Patch(field("elsewhere"))
	c.wait(cluster, "x left", 1)
	c.are(t, "x gold", "y any", "x reached", "x left")
}

// tierOf returns an example with the label "tier".
func tierOf(name, tier string) tree {
	object := example(name)
	object["metadata"].(tree)["labels"] = tree{"tier": tier}
	return object
}

func TestSubHandler_NestedOnesHaveOwnProgress(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, func(ctx context.Context, r *change) error {
			c.add("top")
			for _, item := range r.Body.Get("spec.items").([]any) {
				id := item.(string)
				r.Sub(id, func(_ context.Context, r *change) error {
					c.add(id)
					r.Sub("x", c.fails(id+"/x", kopf.Temporaryf(-1, "again")))
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
	}, logPatches)
	x := cluster.Create(example("x"))
	o := waitHandled(x)
	op.WaitLog("we are not interested")
	for id, want := range map[string]int{
		"item1/x": 2, "item1/y": 1, "item2/x": 2, "item2/y": 1, "failing": 1, "after all": 1,
	} {
		if got := c.count(id); got != want {
			t.Errorf("%s was called %d times instead of %d", id, got, want)
		}
	}
	for key := range o.Get("metadata.annotations").(tree) {
		if key != lastHandled && key != "someannotation" && key != "kopf.zalando.org/failed-handler.top.failing" {
			t.Errorf("%s is left", key)
		}
	}
	status := x.WaitFor("it has all results", func(o *kopf.Object) bool { return o.Get("status.top") == "done" }).Get("status").(tree)
	if y, _ := status["top/item2/y"].(tree); y["done"] != "item2" {
		t.Errorf("status: %v", status)
	}
	op.WaitLog("Handler 'top/failing' failed with an exception and will stop now: no")
	var subrefs bool
	for _, e := range patchesOf(op) {
		subrefs = subrefs || strings.Contains(attr(e, "body"), `subrefs\":[\"top/failing\",\"top/item1\",\"top/item1/x\",\"top/item1/y\"`)
	}
	if !subrefs {
		t.Errorf("the sub-handlers were never noted:\n%v", patchesOf(op))
	}
}

func TestResume_HandlerWithNothingToWriteIsCalledOnce(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
	create := func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, func(context.Context, *change) error { return nil }, kopf.ID("create"))
	}
	op := cluster.Run(create)
	x := cluster.Create(example("x"))
	waitHandled(x)
	op.Stop()
	op = cluster.Run(func(r *kopf.Registry) {
		create(r)
		kopf.OnResume(r, kexes, func(context.Context, *change) error {
			c.add("resume")
			return nil
		}, kopf.ID("resume"))
	})
	op.WaitLog("Handler 'resume' succeeded.")
	x.Patch(tree{"metadata": tree{"finalizers": []any{"example.com/mine"}}})
	op.WaitLog("we are not interested")
	x.Patch(tree{"metadata": tree{"finalizers": nil}})
	if got := c.count("resume"); got != 1 {
		t.Errorf("it was called %d times", got)
	}
}
