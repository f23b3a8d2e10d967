package e2e

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

// sees returns a handler that records spec.field, and retries if the value is one of
// retried.
func sees(c *calls, id string, retried ...string) func(context.Context, *change) error {
	return func(_ context.Context, r *change) error {
		seen := kopf.GetOr(r.Body, "spec.field", "")
		c.add(id + " " + seen)
		for _, one := range retried {
			if seen == one {
				return kopf.Temporaryf(time.Millisecond, "not with %s", one)
			}
		}
		return nil
	}
}

func TestUnseenChange_ReachesHandlersThatWereDone(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnUpdate(r, kexes, sees(c, "a"), kopf.ID("a"))
		kopf.OnUpdate(r, kexes, sees(c, "b", "two"), kopf.ID("b"))
	})
	x := cluster.Create(example("x"))
	waitHandled(x)
	x.Patch(field("two"))
	c.wait(cluster, "b two", 1)
	x.Patch(field("three"))
	c.wait(cluster, "b three", 1)
	waitHandled(x)
	if c.count("a two") != 1 || c.count("a three") != 1 {
		t.Errorf("called: %v", c.all())
	}
	op.WaitLogs("Updating is processed", 2)
}

func TestUnseenChange_DuringResumingReachesHandlersThatWereDone(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
	op := cluster.Run(func(r *kopf.Registry) {
		a, b := sees(c, "a"), sees(c, "b", "value")
		kopf.OnResume(r, kexes, a, kopf.ID("a"))
		kopf.OnUpdate(r, kexes, a, kopf.ID("a"))
		kopf.OnResume(r, kexes, b, kopf.ID("b"))
		kopf.OnUpdate(r, kexes, b, kopf.ID("b"))
	})
	x := cluster.Create(example("x"))
	waitHandled(x)
	op.Restart()
	c.wait(cluster, "a value", 1)
	c.wait(cluster, "b value", 1)
	x.Patch(field("three"))
	c.wait(cluster, "b three", 1)
	c.wait(cluster, "a three", 1)
	waitHandled(x)
	if c.count("a value") != 1 || c.count("a three") != 1 {
		t.Errorf("called: %v", c.all())
	}
}

func TestUnseenChange_FollowsWithoutAnEvent(t *testing.T) {
	cluster, c, db := newCluster(t), &calls{}, newDatabase()
	cluster.Run(func(r *kopf.Registry) {
		kopf.OnUpdate(r, kexes, sees(c, "a"), kopf.ID("a"))
		kopf.OnUpdate(r, kexes, sees(c, "b", "two"), kopf.ID("b"))
	}, settings(func(s *kopf.Settings) {
		s.Persistence.ProgressStorage, s.Persistence.DiffBaseStorage = dbProgress{db}, dbBases{db}
	}))
	x := cluster.Create(example("x"))
	cluster.WaitUntil("the object is handled", func() bool {
		db.mu.Lock()
		defer db.mu.Unlock()
		return len(db.bases) == 1
	})
	x.Patch(field("two"))
	c.wait(cluster, "b two", 1)
	x.Patch(field("three"))
	c.wait(cluster, "b three", 1)
	c.wait(cluster, "a three", 1)
}

func TestUnseenChange_DuringRetryReachesHandlersThatWereDone(t *testing.T) {
	cluster, c, mended := newCluster(t), &calls{}, atomic.Bool{}
	op := cluster.Run(func(r *kopf.Registry) {
		register := func(id string, seen func(context.Context, *change) error) {
			handler := func(ctx context.Context, r *change) error {
				if !mended.Load() {
					return kopf.Permanentf("not yet")
				}
				return seen(ctx, r)
			}
			kopf.OnCreate(r, kexes, handler, kopf.ID(id))
			kopf.OnUpdate(r, kexes, handler, kopf.ID(id))
		}
		register("a", sees(c, "a"))
		register("b", sees(c, "b", "value"))
	})
	x := cluster.Create(example("x"))
	waitHandled(x)
	mended.Store(true)
	retry(t, op, phases(op, "x", inspect.StateFailed, "a=failed", "b=failed"), "")
	c.wait(cluster, "a value", 1)
	c.wait(cluster, "b value", 1)
	x.Patch(field("three"))
	c.wait(cluster, "b three", 1)
	c.wait(cluster, "a three", 1)
	waitHandled(x)
	if c.count("a value") != 1 || c.count("a three") != 1 {
		t.Errorf("called: %v", c.all())
	}
}

func TestUnseenChange_BackToTheHandledStateIsAnUpdate(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
	cluster.Run(func(r *kopf.Registry) {
		kopf.OnUpdate(r, kexes, sees(c, "a"), kopf.ID("a"))
		kopf.OnUpdate(r, kexes, sees(c, "b", "two"), kopf.ID("b"))
	})
	x := cluster.Create(example("x"))
	waitHandled(x)
	x.Patch(field("two"))
	c.wait(cluster, "b two", 1)
	x.Patch(field("value"))
	c.wait(cluster, "a value", 1)
	c.wait(cluster, "b value", 1)
	waitHandled(x)
	if c.count("a two") != 1 || c.count("a value") != 1 || c.count("b value") != 1 {
		t.Errorf("called: %v", c.all())
	}
}

func TestUnseenChange_BackToTheHandledStateLeavesNoRecords(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
	cluster.Run(func(r *kopf.Registry) {
		kopf.OnUpdate(r, kexes, sees(c, "b", "two"), kopf.ID("b"))
	})
	x := cluster.Create(example("x"))
	waitHandled(x)
	x.Patch(field("two"))
	x.WaitFor("b has a record", func(o *kopf.Object) bool {
		return strings.Contains(fmt.Sprint(o.Get("metadata.annotations")), "kopf.zalando.org/b:")
	})
	x.Patch(field("value"))
	x.WaitFor("b has none", func(o *kopf.Object) bool {
		return !strings.Contains(fmt.Sprint(o.Get("metadata.annotations")), "kopf.zalando.org/b:")
	})
	x.Patch(field("three"))
	c.wait(cluster, "b three", 1)
	waitHandled(x)
	if c.count("b value") != 0 {
		t.Errorf("called: %v", c.all())
	}
}

func TestUnseenChange_BackToTheHandledStateBeforeResumingIsAnUpdate(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnUpdate(r, kexes, sees(c, "a"), kopf.ID("a"))
		kopf.OnUpdate(r, kexes, sees(c, "b", "two"), kopf.ID("b"))
		kopf.OnResume(r, kexes, sees(c, "resumed"), kopf.ID("resumed"))
	})
	x := cluster.Create(example("x"))
	waitHandled(x)
	op.Stop()
	x.Patch(field("two"))
	op.Start()
	c.wait(cluster, "a two", 1)
	c.wait(cluster, "b two", 1)
	x.Patch(field("value"))
	c.wait(cluster, "a value", 1)
	waitHandled(x)
	if c.count("a two") != 1 || c.count("a value") != 1 {
		t.Errorf("called: %v", c.all())
	}
}

func TestUnseenChange_OfOtherFieldsIsNoUpdate(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnUpdate(r, kexes, sees(c, "items"), kopf.ID("items"), kopf.Field("spec.items"))
		kopf.OnUpdate(r, kexes, sees(c, "b", "two"), kopf.ID("b"))
	})
	x := cluster.Create(example("x"))
	waitHandled(x)
	x.Patch(tree{"spec": tree{"items": []any{"another"}, "field": "two"}})
	c.wait(cluster, "items two", 1)
	c.wait(cluster, "b two", 1)
	x.Patch(field("three"))
	waitHandled(x)
	op.WaitLog("Updating is processed")
	x.Patch(field("four"))
	waitHandled(x)
	op.WaitLogs("Updating is processed", 2)
	if c.count("b three") != 1 || c.count("b four") != 1 || c.count("items two") != 1 || c.count("items four") != 0 {
		t.Errorf("called: %v", c.all())
	}
}

func TestUnseenChange_DuringCreationIsAnUpdate(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
	cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, sees(c, "a"), kopf.ID("a"))
		kopf.OnCreate(r, kexes, sees(c, "b", "value"), kopf.ID("b"))
		kopf.OnUpdate(r, kexes, sees(c, "updated"), kopf.ID("updated"))
	})
	x := cluster.Create(example("x"))
	c.wait(cluster, "a value", 1)
	c.wait(cluster, "b value", 1)
	x.Patch(field("three"))
	c.wait(cluster, "updated three", 1)
	waitHandled(x)
	if c.count("a value") != 1 || c.count("b three") != 1 || c.count("updated three") != 1 {
		t.Errorf("called: %v", c.all())
	}
}

func TestUnseenChange_ReachesSubhandlersThatWereDone(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
	cluster.Run(func(r *kopf.Registry) {
		kopf.OnUpdate(r, kexes, func(_ context.Context, r *change) error {
			r.Sub("one", sees(c, "one"))
			r.Sub("other", sees(c, "other", "two"))
			return nil
		}, kopf.ID("parent"))
	})
	x := cluster.Create(example("x"))
	waitHandled(x)
	x.Patch(field("two"))
	c.wait(cluster, "one two", 1)
	c.wait(cluster, "other two", 1)
	x.Patch(field("three"))
	c.wait(cluster, "one three", 1)
	waitHandled(x)
	if c.count("one two") != 1 || c.count("one three") != 1 {
		t.Errorf("called: %v", c.all())
	}
}
