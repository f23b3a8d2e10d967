package e2e

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopf/storage"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

// failedHandler is the beginning of the names of the annotations that permanent failures are kept in.
const failedHandler = "kopf.zalando.org/failed-handler."

// failures returns the annotations of an object that record permanent failures.
func failures(object *kopf.Object) map[string]string {
	found := map[string]string{}
	annotations, _ := object.Get("metadata.annotations").(tree)
	for name, text := range annotations {
		if strings.Contains(name, "/failed-handler.") {
			found[name], _ = text.(string)
		}
	}
	return found
}

// breakable is a handler that fails permanently until it is mended.
type breakable struct {
	calls
	mended atomic.Bool
}

func (b *breakable) handler(id string) func(context.Context, *change) error {
	return func(_ context.Context, _ *change) error {
		mended := b.mended.Load() // before the test sees the call
		b.add(id)
		if !mended {
			return kopf.Permanentf("no %s today", id)
		}
		return nil
	}
}

func retry(t *testing.T, op *kopftest.Operator, x inspect.Object, handler string) {
	t.Helper()
	if err := op.Inspector().Do(t.Context(), inspect.Intent{Kind: inspect.IntentRetry, Object: &x.Ref, Handler: handler}); err != nil {
		t.Fatal(err)
	}
}

func TestFailure_RidesInTheLastPatch(t *testing.T) {
	cluster, b := newCluster(t), &breakable{}
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, plains, b.handler("created"), kopf.ID("created"))
	}, logPatches)
	x := cluster.Create(plain.of(tree{"metadata": tree{"name": "x"}}))
	waitHandled(x)
	if got := failures(x.Get()); len(got) != 1 || !strings.Contains(got[failedHandler+"created"], `"message":"no created today"`) {
		t.Errorf("the object tells of %v", got)
	}
	op.WaitLog("Handling cycle is finished")
	n := 0
	for _, e := range op.LogEntries() {
		if e.Message == patchMessage {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d requests instead of 1", n)
	}
}

func TestFailure_StaysVisibleAfterRestart(t *testing.T) {
	cluster, b := newCluster(t), &breakable{}
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, b.handler("broken"), kopf.ID("broken"))
		kopf.OnCreate(r, kexes, func(context.Context, *change) error { return nil }, kopf.ID("fine"))
		kopf.OnUpdate(r, kexes, func(context.Context, *change) error { return nil }, kopf.ID("updated"))
		kopf.OnResume(r, kexes, func(context.Context, *change) error { return nil }, kopf.ID("resumed"))
	})
	x := cluster.Create(example("x"))
	phases(op, "x", inspect.StateFailed, "broken=failed", "fine=done", "updated=other cause", "resumed=other cause")
	op.Restart()
	seen := phases(op, "x", inspect.StateFailed, "resumed=done", "broken=failed", "fine=other cause", "updated=other cause")
	if h := seen.Handlers[1]; h.Error == nil || h.Error.Message != "no broken today" || h.Attempt != 1 || h.Started.IsZero() {
		t.Errorf("of the failure, this is told: %+v", h)
	}
	b.are(t, "broken")
	x.Patch(tree{"spec": tree{"field": "other"}})
	phases(op, "x", inspect.StateSettled, "updated=done", "broken=other cause", "fine=other cause", "resumed=other cause")
	cluster.WaitUntil("the failure is forgotten after the change", func() bool { return len(failures(x.Get())) == 0 })
}

func TestRetry_CallsOnlyWhatFailed(t *testing.T) {
	cluster, b := newCluster(t), &breakable{}
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, b.does("fine"), kopf.ID("fine"))
		kopf.OnCreate(r, kexes, b.handler("one"), kopf.ID("one"))
		kopf.OnCreate(r, kexes, b.handler("two"), kopf.ID("two"))
	})
	x := cluster.Create(example("x"))
	phases(op, "x", inspect.StateFailed, "fine=done", "one=failed", "two=failed")
	b.are(t, "fine", "one", "two")
	op.Restart()
	seen := phases(op, "x", inspect.StateFailed, "fine=other cause", "one=failed", "two=failed")
	before := failures(x.Get())[failedHandler+"two"]
	retry(t, op, seen, "two") // which is not mended
	b.wait(cluster, "two", 2)
	cluster.WaitUntil("both have failed, one of them again", func() bool {
		now := failures(x.Get())
		two := now[failedHandler+"two"]
		return len(now) == 2 && two != before && !strings.Contains(two, `"again":true`)
	})
	b.mended.Store(true)
	retry(t, op, seen, "two")
	phases(op, "x", inspect.StateFailed, "fine=done", "one=failed", "two=done")
	cluster.WaitUntil("one is left", func() bool { return len(failures(x.Get())) == 1 })
	retry(t, op, seen, "")
	cluster.WaitUntil("none is left", func() bool { return len(failures(x.Get())) == 0 })
	b.are(t, "fine", "one", "two", "two", "two", "one")
}

func TestRetry_UpdateIsCalledWithTheSameChange(t *testing.T) {
	cluster := newCluster(t)
	var mended atomic.Bool
	diffs := make(chan string, 10)
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnField(r, kexes, "spec.field", func(_ context.Context, c *kopf.FieldChange[string]) error {
			diffs <- c.Old + ">" + c.New
			if !mended.Load() {
				return kopf.Permanentf("no")
			}
			return nil
		}, kopf.ID("field"), kopf.From("value"))
	})
	x := cluster.Create(example("x"))
	waitHandled(x)
	x.Patch(tree{"spec": tree{"field": "other"}})
	seen := phases(op, "x", inspect.StateFailed, "field/spec.field=failed")
	op.Restart()
	phases(op, "x", inspect.StateFailed, "field/spec.field=failed")
	mended.Store(true)
	retry(t, op, seen, "")
	phases(op, "x", inspect.StateSettled, "field/spec.field=done")
	if first, second := <-diffs, <-diffs; first != "value>other" || second != first {
		t.Errorf("it was called for %s, and then for %s", first, second)
	}
	_ = x
}

func TestRetry_OfTemporaryErrorsGoesOnAfterRestart(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
	var stage atomic.Int32
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, func(_ context.Context, r *change) error {
			c.add("created")
			switch stage.Load() {
			case 0:
				return kopf.Permanentf("broken")
			case 1:
				return kopf.Temporaryf(time.Hour, "not yet")
			}
			if r.Retry != 1 {
				return kopf.Permanentf("it is called anew")
			}
			return nil
		}, kopf.ID("created"))
	})
	x := cluster.Create(example("x"))
	seen := phases(op, "x", inspect.StateFailed, "created=failed")
	stage.Store(1)
	retry(t, op, seen, "")
	phases(op, "x", inspect.StateRetrying, "created=retrying")
	stage.Store(2)
	op.Restart()
	phases(op, "x", inspect.StateRetrying, "created=retrying")
	retry(t, op, seen, "")
	phases(op, "x", inspect.StateSettled, "created=done")
	cluster.WaitUntil("nothing is left", func() bool {
		annotations, _ := x.Get().Get("metadata.annotations").(tree)
		for name := range annotations {
			if strings.HasPrefix(name, "kopf.zalando.org/") && name != lastHandled {
				return false
			}
		}
		return true
	})
	c.are(t, "created", "created", "created")
}

func TestRetry_FailedSubhandlerAlone(t *testing.T) {
	cluster, b := newCluster(t), &breakable{}
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, func(_ context.Context, c *change) error {
			b.add("parent")
			c.Sub("fine", b.does("fine"))
			c.Sub("broken", b.handler("broken"))
			return nil
		}, kopf.ID("parent"))
	})
	x := cluster.Create(example("x"))
	cluster.WaitUntil("it has failed", func() bool { return len(failures(x.Get())) == 1 })
	op.Restart()
	var seen inspect.Object
	op.WaitInspect("the failure is shown", func(s *inspect.Snapshot) bool {
		if len(s.Objects) == 1 {
			seen = *s.Objects[0]
		}
		return seen.State == inspect.StateFailed
	})
	b.mended.Store(true)
	retry(t, op, seen, "parent/broken")
	cluster.WaitUntil("it is handled", func() bool { return len(failures(x.Get())) == 0 })
	if b.count("fine") != 1 || b.count("broken") != 2 {
		t.Errorf("the calls are %v", b.all())
	}
}

func TestRetry_FailedDaemonStartsAgain(t *testing.T) {
	cluster := newCluster(t)
	var mended atomic.Bool
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.Daemon(r, kexes, func(ctx context.Context, _ *run) error {
			if !mended.Load() {
				return kopf.Permanentf("broken")
			}
			<-ctx.Done()
			return nil
		}, kopf.ID("d"))
	})
	cluster.Create(example("x"))
	phases(op, "x", inspect.StateFailed, "d=failed")
	mended.Store(true)
	if err := op.Inspector().Do(t.Context(), inspect.Intent{Kind: inspect.IntentRetryFailed}); err != nil {
		t.Fatal(err)
	}
	phases(op, "x", inspect.StateSettled, "d=alive")
}

func TestRetry_RefusedWithReason(t *testing.T) {
	cluster, b := newCluster(t), &breakable{}
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, b.handler("created"), kopf.ID("created"))
	})
	cluster.Create(example("x"))
	seen := phases(op, "x", inspect.StateFailed, "created=failed")
	for want, in := range map[string]inspect.Intent{
		`there is no handler "other" for x`:               {Kind: inspect.IntentRetry, Object: &seen.Ref, Handler: "other"},
		"retry: which object?":                            {Kind: inspect.IntentRetry},
		"this operator does not know how to retry nobody": {Kind: inspect.IntentRetryFailed, Value: "nobody"},
	} {
		var refused *inspect.RefusedError
		if err := op.Inspector().Do(t.Context(), in); !errors.As(err, &refused) || refused.Reason != want {
			t.Errorf("got %v instead of %s", err, want)
		}
	}
}

func TestRetryFailed_AllOfMany(t *testing.T) {
	const objects = 100
	cluster, b := newCluster(t), &breakable{}
	var running, most atomic.Int32
	register := func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, func(ctx context.Context, c *change) error {
			if b.mended.Load() {
				now := running.Add(1)
				defer running.Add(-1)
				for m := most.Load(); now > m && !most.CompareAndSwap(m, now); m = most.Load() {
				}
			}
			return b.handler("created")(ctx, c)
		}, kopf.ID("created"))
	}
	op := cluster.Run(register)
	for range objects {
		cluster.Create(kex.of(tree{"metadata": tree{"generateName": "x-"}}))
	}
	count := func(state inspect.ObjectState) func(*inspect.Snapshot) bool {
		return func(s *inspect.Snapshot) bool {
			n := 0
			for i := range s.Objects {
				if s.Objects[i].State == state {
					n++
				}
			}
			return n == objects
		}
	}
	op.WaitInspect("all have failed", count(inspect.StateFailed))
	b.mended.Store(true)
	op.Restart() // those of the past are found again, some before the request, others after it
	if err := op.Inspector().Do(t.Context(), inspect.Intent{Kind: inspect.IntentRetryFailed, Value: inspect.RetryFormer}); err != nil {
		t.Fatal(err)
	}
	op.WaitInspect("all are handled", count(inspect.StateSettled))
	if n := most.Load(); n > 16 {
		t.Errorf("%d handlers were called at the same time", n)
	}
}

func TestFailure_InOtherStorages(t *testing.T) {
	db := newDatabase()
	for name, test := range map[string]struct {
		prefix  string
		persist func(*kopf.PersistenceSettings)
	}{
		"in the status": {"kopf.zalando.org", func(p *kopf.PersistenceSettings) {
			p.ProgressStorage, p.DiffBaseStorage = storage.Status(storage.StatusFields{Name: "mine"}), storage.StatusDiffBase(storage.DiffBaseField{Field: "status.handled"})
		}},
		"with a prefix": {"my.example.com", func(p *kopf.PersistenceSettings) {
			p.ProgressStorage, p.DiffBaseStorage = storage.Annotations(storage.AnnotationNames{Prefix: "my.example.com"}), storage.AnnotationDiffBase(storage.DiffBaseAnnotation{Prefix: "my.example.com"})
		}},
		"outside of the cluster": {"kopf.zalando.org", func(p *kopf.PersistenceSettings) {
			p.ProgressStorage, p.DiffBaseStorage = dbProgress{db}, dbBases{db}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			cluster, b := newCluster(t), &breakable{}
			op := cluster.Run(func(r *kopf.Registry) {
				kopf.OnCreate(r, kexes, b.handler("broken"), kopf.ID("broken"))
				kopf.OnCreate(r, kexes, b.does("fine"), kopf.ID("fine"))
			}, settings(func(s *kopf.Settings) { test.persist(&s.Persistence) }))
			x := cluster.Create(example("x"))
			phases(op, "x", inspect.StateFailed, "broken=failed", "fine=done")
			cluster.WaitUntil("the failure is kept", func() bool { return failures(x.Get())[test.prefix+"/failed-handler.broken"] != "" })
			op.Restart()
			seen := phases(op, "x", inspect.StateFailed, "broken=failed", "fine=other cause")
			b.mended.Store(true)
			retry(t, op, seen, "")
			phases(op, "x", inspect.StateSettled, "broken=done", "fine=done")
			cluster.WaitUntil("the failure is forgotten", func() bool { return len(failures(x.Get())) == 0 })
			b.are(t, "broken", "fine", "broken")
		})
	}
}

func TestRetry_DuringTheHandlingStartsTheFailedHandlerAgain(t *testing.T) {
	cluster, b := newCluster(t), &breakable{}
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, b.handler("broken"), kopf.ID("broken"))
		kopf.OnCreate(r, kexes, func(_ context.Context, c *change) error {
			if !b.mended.Load() {
				return kopf.Temporaryf(time.Hour, "not yet")
			}
			return nil
		}, kopf.ID("slow"))
	})
	cluster.Create(example("x"))
	seen := phases(op, "x", inspect.StateFailed, "broken=failed", "slow=retrying")
	b.mended.Store(true)
	retry(t, op, seen, "broken")
	phases(op, "x", inspect.StateRetrying, "broken=done", "slow=retrying")
	retry(t, op, seen, "")
	phases(op, "x", inspect.StateSettled, "broken=done", "slow=done")
}

func TestRetry_CallsAllHandlersThatWait(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
	var mended atomic.Bool
	slow := func(id string) func(context.Context, *change) error {
		return func(context.Context, *change) error {
			if !mended.Load() {
				return kopf.Temporaryf(time.Hour, "not yet")
			}
			c.add(id)
			return nil
		}
	}
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, slow("one"), kopf.ID("one"))
		kopf.OnCreate(r, kexes, slow("two"), kopf.ID("two"))
		kopf.OnCreate(r, kexes, func(_ context.Context, c *change) error {
			c.Sub("x", slow("x"))
			c.Sub("y", slow("y"))
			return nil
		}, kopf.ID("parent"))
	})
	cluster.Create(example("x"))
	op.WaitLogs("failed temporarily: not yet", 4)
	seen := phases(op, "x", inspect.StateRetrying, "one=retrying", "two=retrying", "parent=retrying", "parent/x=retrying", "parent/y=retrying")
	mended.Store(true)
	retry(t, op, seen, "")
	phases(op, "x", inspect.StateSettled, "one=done", "two=done", "parent=done", "parent/x=done", "parent/y=done")
	slices.Sort(c.list)
	c.are(t, "one", "two", "x", "y")
}

func TestDeletion_FailedForGoodReleasesTheObject(t *testing.T) {
	cluster, b := newCluster(t), &breakable{}
	cluster.Run(func(r *kopf.Registry) {
		kopf.OnDelete(r, kexes, b.handler("permanent"), kopf.ID("permanent"))
		kopf.OnDelete(r, kexes, func(context.Context, *change) error {
			b.add("arbitrary")
			return errors.New("no")
		}, kopf.ID("arbitrary"), kopf.Attempts(2), kopf.RetryDelay(time.Millisecond))
	})
	x := cluster.Create(example("x"))
	x.WaitFor("the finalizer is there", func(o *kopf.Object) bool { return o.Get("metadata.finalizers") != nil })
	x.Delete()
	x.WaitGone()
	if permanent, arbitrary := b.count("permanent"), b.count("arbitrary"); permanent != 1 || arbitrary != 2 {
		t.Errorf("%d and %d calls instead of 1 and 2", permanent, arbitrary)
	}
}

func TestDeletion_KeepOnFailureKeepsTheObjectUntilARetrySucceeds(t *testing.T) {
	cluster, b := newCluster(t), &breakable{}
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnDelete(r, kexes, b.handler("release"), kopf.ID("release"), kopf.KeepOnFailure())
		kopf.OnDelete(r, kexes, b.does("fine"), kopf.ID("fine"))
	})
	x := cluster.Create(example("x"))
	x.WaitFor("the finalizer is there", func(o *kopf.Object) bool { return o.Get("metadata.finalizers") != nil })
	x.Delete()
	phases(op, "x", inspect.StateFailed, "release=failed", "fine=done")
	op.WaitLog("Keeping the object: handler 'release' has failed for good")

	op.Restart()
	seen := phases(op, "x", inspect.StateFailed, "release=failed", "fine=other cause")
	x.Patch(tree{"spec": tree{"field": "other"}})
	retry(t, op, seen, "") // it is not mended yet
	b.wait(cluster, "release", 2)
	seen = phases(op, "x", inspect.StateFailed, "release=failed", "fine=done")
	if got := x.Get().Get("metadata.finalizers"); got == nil {
		t.Error("the finalizer is removed although the handler has failed again")
	}
	b.mended.Store(true)
	retry(t, op, seen, "release")
	x.WaitGone()
	b.are(t, "release", "fine", "release", "release")
}

func TestDeletion_KeptObjectIsReleasedWithoutTheOption(t *testing.T) {
	cluster, b := newCluster(t), &breakable{}
	register := func(opts ...kopf.DeleteOption) func(*kopf.Registry) {
		return func(r *kopf.Registry) {
			kopf.OnDelete(r, kexes, b.handler("release"), append(opts, kopf.ID("release"))...)
		}
	}
	op := cluster.Run(register(kopf.KeepOnFailure()))
	x := cluster.Create(example("x"))
	x.WaitFor("the finalizer is there", func(o *kopf.Object) bool { return o.Get("metadata.finalizers") != nil })
	x.Delete()
	phases(op, "x", inspect.StateFailed, "release=failed")
	cluster.WaitUntil("the failure is recorded", func() bool { return len(failures(x.Get())) == 1 })
	op.Stop()
	cluster.Run(register())
	x.WaitGone()
	b.are(t, "release")
}

func TestDeletion_CopyOfAKeptObjectIsStillHandled(t *testing.T) {
	cluster, b := newCluster(t), &breakable{}
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnDelete(r, kexes, b.handler("release"), kopf.ID("release"), kopf.KeepOnFailure())
	})
	x := cluster.Create(example("x"))
	x.WaitFor("the finalizer is there", func(o *kopf.Object) bool { return o.Get("metadata.finalizers") != nil })
	x.Delete()
	phases(op, "x", inspect.StateFailed, "release=failed")
	cluster.WaitUntil("the failure is recorded", func() bool { return len(failures(x.Get())) == 1 })

	copied := example("copy")
	copied["metadata"].(tree)["annotations"] = x.Get().Get("metadata.annotations")
	y := cluster.Create(copied)
	y.WaitFor("the finalizer is there", func(o *kopf.Object) bool { return o.Get("metadata.finalizers") != nil })
	b.mended.Store(true)
	y.Delete()
	y.WaitGone()
	b.are(t, "release", "release")
}
