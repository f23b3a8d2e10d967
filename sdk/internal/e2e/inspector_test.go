package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

func TestInspector_DaemonsAndTimers(t *testing.T) {
	cluster, r := newCluster(t), newRunCounts()
	op := cluster.Run(func(reg *kopf.Registry) {
		kopf.Daemon(reg, kexes, r.daemon("alive", 0), kopf.ID("alive"))
		kopf.Daemon(reg, kexes, func(context.Context, *run) error { return nil }, kopf.ID("done"))
		kopf.Daemon(reg, kexes, func(context.Context, *run) error { return kopf.Permanentf("broken") },
			kopf.ID("broken"), kopf.Labels{"breaks": "yes"})
		kopf.Daemon(reg, kexes, func(_ context.Context, d *run) error {
			if d.Retry == 0 {
				return errors.New("oops")
			}
			return nil
		}, kopf.ID("retrying"), kopf.RetryDelay(time.Hour))
		kopf.Timer(reg, kexes, func(context.Context, *tick) error { return nil }, kopf.ID("ticking"), kopf.Interval(time.Hour))
	}, connect(restricted(cluster)))
	object := cluster.Create(example("x"))
	x := phases(op, "x", inspect.StateRetrying, "alive=alive", "done=done", "broken=filtered", "retrying=retrying", "ticking=ticking")
	if h := x.Handlers[3]; h.Attempt != 1 || len(h.Attempts) != 1 || h.Error == nil || time.Until(h.Next) < 50*time.Minute {
		t.Errorf("of the one that retries, this is told: %+v", h)
	}
	var timer inspect.HandlerState
	op.WaitInspect("the timer tells when it ticks again", func(snapshot *inspect.Snapshot) bool {
		timer = snapshot.Objects[0].Handlers[4]
		return time.Until(timer.Next) > 50*time.Minute
	})
	// The state is kept through other changes, and a delay can be ended.
	object.Patch(field("other"))
	x = phases(op, "x", inspect.StateRetrying, "alive=alive", "done=done", "broken=filtered", "retrying=retrying", "ticking=ticking")
	if err := op.Inspector().Do(t.Context(), inspect.Intent{Kind: inspect.IntentRetry, Object: &x.Ref}); err != nil {
		t.Fatal(err)
	}
	x = phases(op, "x", inspect.StateSettled, "alive=alive", "done=done", "broken=filtered", "retrying=done", "ticking=ticking")
	if h := x.Handlers[3]; len(h.Attempts) != 2 {
		t.Errorf("the attempts are %+v", h.Attempts)
	}
	object.Patch(tree{"metadata": tree{"labels": tree{"breaks": "yes"}}})
	phases(op, "x", inspect.StateFailed, "alive=alive", "done=done", "broken=failed", "retrying=done", "ticking=ticking")
	op.Stop()
}

func TestInspector_DeletionIsStuckUntilItsRetry(t *testing.T) {
	cluster := newCluster(t)
	op := cluster.Run(func(reg *kopf.Registry) {
		kopf.OnDelete(reg, kexes, func(_ context.Context, c *change) error {
			if c.Retry == 0 {
				return kopf.Temporaryf(time.Hour, "still attached")
			}
			return nil
		}, kopf.ID("detach"))
	})
	object := cluster.Create(example("x"))
	waitHeld(object)
	object.Delete()
	x := phases(op, "x", inspect.StateStuck, "detach=retrying")
	if err := op.Inspector().Do(t.Context(), inspect.Intent{Kind: inspect.IntentRetry, Object: &x.Ref}); err != nil {
		t.Fatal(err)
	}
	object.WaitGone()
	remembers(op, 0)
}

// phases waits until the handlers of an object are in the wanted phases, such as "id=done", and
// returns the object.
func phases(op *kopftest.Operator, name string, state inspect.ObjectState, want ...string) inspect.Object {
	op.T().Helper()
	var seen inspect.Object
	op.WaitInspect(fmt.Sprintf("%s is %s with %s", name, state, want), func(snapshot *inspect.Snapshot) bool {
		for _, o := range snapshot.Objects {
			if o.Name != name {
				continue
			}
			seen = *o
			var all []string
			for _, h := range o.Handlers {
				all = append(all, h.ID+"="+string(h.State))
			}
			return o.State == state && slices.Equal(all, want)
		}
		return false
	})
	return seen
}

func TestInspector_IndexContent(t *testing.T) {
	cluster, b := newCluster(t), &byField{}
	for i := range 5 {
		cluster.Create(withField(fmt.Sprint("kex-", i), fmt.Sprint("key-", i%2)))
	}
	op := cluster.Run(func(r *kopf.Registry) {
		b.register(r, kexes)
		b.register(r, plains)
		kopf.NewIndex(r, kopf.Resource("example.com/v1", "nowhere"), func(context.Context, *indexed) (map[int]bool, error) {
			return nil, nil
		}, kopf.ID("absent"))
	})
	want := func(keys, values, objects int) []inspect.Index {
		return []inspect.Index{
			{ID: "absent", Key: "int", Value: "bool", Resources: []string{}},
			{
				ID: "by-field", Key: "string", Value: "string", Resources: []string{kex.key(), plain.key()},
				Keys: keys, Values: values, Objects: objects,
			},
		}
	}
	snapshot := op.Inspect()
	if diff := cmp.Diff(want(2, 5, 5), snapshot.Indices); diff != "" {
		t.Error(diff)
	}
	page, err := op.Inspector().Index(t.Context(), "by-field", 1, 3)
	if err != nil {
		t.Fatal(err)
	}
	keys := []string{}
	for _, e := range page.Entries {
		keys = append(keys, e.Key)
	}
	if page.Total != 5 || !slices.Equal(keys, []string{"key-0", "key-0", "key-1"}) || !slices.Contains(b.content()["key-1"], page.Entries[2].Value) {
		t.Errorf("%+v", page)
	}

	steps := []func(){
		func() { cluster.Object(kex.name(), "kex-0").Patch(field("other")) },
		func() { cluster.Object(kex.name(), "kex-1").Delete() },
		func() {
			op.Pause()
			cluster.Object(kex.name(), "kex-0").Delete()
			op.Resume()
		},
	}
	sizes := [][3]int{{2, 5, 5}, {3, 5, 5}, {3, 4, 4}, {2, 3, 3}}
	seen := 0
	op.WaitInspect("it tells of all changes", func(s *inspect.Snapshot) bool {
		if size := sizes[seen]; !cmp.Equal(want(size[0], size[1], size[2]), s.Indices) {
			return false
		}
		if seen == len(steps) {
			return true
		}
		steps[seen]()
		seen++
		return false
	})
}

func TestInspector_RetriedObjectAppearsInIndex(t *testing.T) {
	cluster, b := newCluster(t), &byField{}
	op := cluster.Run(func(r *kopf.Registry) {
		b.index = kopf.NewIndex(r, kexes, func(_ context.Context, p *indexed) (map[string]string, error) {
			if p.Retry == 0 {
				return nil, kopf.Temporaryf(10*time.Millisecond, "not yet")
			}
			return map[string]string{"x": p.Name}, nil
		}, kopf.ID("by-field"))
	})
	cluster.Create(withField("a", "x"))
	op.WaitInspect("the object is in the index after a retry", func(s *inspect.Snapshot) bool {
		stats := s.Handlers[0].Stats
		return len(s.Indices) == 1 && s.Indices[0].Objects == 1 && stats.Waited == 1 && stats.Succeeded == 1
	})
}

func TestInspector_IndexStateOfObjects(t *testing.T) {
	cluster, b := newCluster(t), &byField{}
	op := cluster.Run(func(r *kopf.Registry) {
		b.register(r, kexes, kopf.Labels{"indexed": "yes"}, kopf.Attempts(5))
		// This handler has the id of the index.
		kopf.OnEvent(r, kexes, func(context.Context, *event) error { return nil },
			kopf.ID("by-field"), kopf.Labels{"watched": "yes"})
	})
	unwanted := withField("unwanted", "x")
	unwanted["metadata"].(tree)["labels"] = tree{"indexed": "no"}
	for _, object := range []tree{withField("good", "x"), withField("late", "later"), withField("bad", "never"), unwanted} {
		cluster.Create(object)
	}
	becomes := func(name string, state inspect.ObjectState, phase inspect.HandlerPhase) *inspect.HandlerState {
		t.Helper()
		var object inspect.Object
		var index *inspect.HandlerState
		op.WaitInspect(fmt.Sprintf("%s is %s, and its index %s", name, state, phase), func(s *inspect.Snapshot) bool {
			i := slices.IndexFunc(s.Objects, func(o *inspect.Object) bool { return o.Name == name })
			if i < 0 {
				return false
			}
			object = *s.Objects[i]
			at := slices.IndexFunc(object.Handlers, func(h inspect.HandlerState) bool { return h.Kind == "index" })
			if at < 0 || len(object.Handlers) != 2 {
				return false
			}
			index = &object.Handlers[at]
			return object.State == state && index.State == phase
		})
		return index
	}
	if h := becomes("good", inspect.StateSettled, inspect.PhaseDone); h.Attempt != 1 || len(h.Attempts) != 1 || h.Error != nil || h.Limit != 5 {
		t.Errorf("good: %+v", h)
	}
	if h := becomes("late", inspect.StateSettled, inspect.PhaseRetrying); time.Until(h.Next) < 59*time.Minute || h.Error.Kind != "temporary" {
		t.Errorf("late: %+v", h)
	}
	if h := becomes("bad", inspect.StateFailed, inspect.PhaseFailed); h.Error.Kind != "permanent" || h.Error.Message != "never" {
		t.Errorf("bad: %+v", h)
	}
	if h := becomes("unwanted", inspect.StateIgnored, inspect.PhaseFiltered); !cmp.Equal(h.Why, &inspect.Mismatch{Kind: "label", Path: "indexed", Is: "no", Wants: "yes"}) {
		t.Errorf("unwanted: %+v", h.Why)
	}
	cluster.Object(kex.name(), "late").Patch(tree{"metadata": tree{"labels": tree{"indexed": nil, "watched": "yes"}}})
	becomes("late", inspect.StateSettled, inspect.PhaseFiltered) // its events are still of interest
	cluster.Object(kex.name(), "late").Patch(tree{"metadata": tree{"labels": tree{"indexed": "yes", "watched": nil}}})
	becomes("late", inspect.StateSettled, inspect.PhaseRetrying)
	cluster.Object(kex.name(), "unwanted").Patch(tree{"metadata": tree{"labels": tree{"indexed": "yes"}}})
	becomes("unwanted", inspect.StateSettled, inspect.PhaseDone)
}

// remembers waits until the operator knows so many objects.
func remembers(op *kopftest.Operator, objects int) {
	op.T().Helper()
	op.WaitInspect(fmt.Sprintf("it knows of %d objects", objects), func(s *inspect.Snapshot) bool { return len(s.Objects) == objects })
}

func TestInspector_FunctionOfSeveralCausesHasKindOfTheCause(t *testing.T) {
	cluster := newCluster(t)
	op := cluster.Run(func(r *kopf.Registry) {
		reconcile := func(context.Context, *change) error { return nil }
		kopf.OnCreate(r, kexes, reconcile, kopf.ID("reconcile"))
		kopf.OnUpdate(r, kexes, reconcile, kopf.ID("reconcile"))
		kopf.OnDelete(r, kexes, reconcile, kopf.ID("reconcile"))
	})
	all := []inspect.HandlerKind{inspect.KindCreate, inspect.KindUpdate, inspect.KindDelete}
	has := func(kind inspect.HandlerKind) func(*inspect.Snapshot) bool {
		return func(s *inspect.Snapshot) bool {
			return len(s.Objects) == 1 && len(s.Objects[0].Handlers) == 1 && s.Objects[0].Handlers[0].Kind == kind &&
				s.Objects[0].Handlers[0].State == inspect.PhaseDone && slices.Equal(s.Objects[0].Handlers[0].Kinds, all)
		}
	}
	object := cluster.Create(example("a"))
	op.WaitInspect("the function has handled the creation", has(inspect.KindCreate))
	object.Patch(field("new"))
	op.WaitInspect("the function has handled the update", has(inspect.KindUpdate))
}
