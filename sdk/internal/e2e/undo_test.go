package e2e

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

type undo = kopf.Undo[kopf.Object, string]

// store is another system whose things are made and removed.
type store struct {
	mu     sync.Mutex
	things map[kopf.StepKey]string
	made   int
	undone calls
}

func (s *store) make(_ context.Context, key kopf.StepKey) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.things[key]; !known {
		s.made++
		if s.things == nil {
			s.things = map[kopf.StepKey]string{}
		}
		s.things[key] = fmt.Sprint("thing ", s.made)
	}
	return s.things[key], nil
}

// remove is the handler that undoes make.
func (s *store) remove(_ context.Context, u *undo) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if u.Recorded && u.Result != "thing 1" || !u.Recorded && u.Result != "" {
		return kopf.Permanentf("result %q", u.Result)
	}
	s.undone.add(fmt.Sprintf("recorded: %t", u.Recorded))
	delete(s.things, u.Key)
	return nil
}

func (s *store) left() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.things)
}

// register adds a handler with a step that a deletion undoes. After the step, the handler returns the error.
func (s *store) register(c custom, after error) func(*kopf.Registry) {
	return func(r *kopf.Registry) {
		kopf.OnUndo(r, c.selector(), "create", "make", s.remove, kopf.KeepOnFailure())
		kopf.OnCreate(r, c.selector(), func(ctx context.Context, c *change) error {
			if _, err := kopf.Step(ctx, c, "make", s.make); err != nil {
				return err
			}
			return after
		}, kopf.ID("create"))
	}
}

// stepsOf returns the annotation with the steps of the handler "create".
func stepsOf(o *kopf.Object) string {
	annotations, _ := o.Get("metadata.annotations").(tree)
	text, _ := annotations["kopf.zalando.org/handler-steps.create"].(string)
	return text
}

func TestOnUndo_KilledAtAnyWriteLeavesNothing(t *testing.T) {
	run := func(t *testing.T, name string, write int, after bool) (s *store, writes int) {
		cluster, s := newCluster(t), &store{}
		faults := killAt(write, after)
		faults.Rules[0].Match = writesOf(plain)
		proxy := cluster.FaultProxy(faults)
		stop := runReplaced(cluster, s.register(plain, nil), proxy)
		x := cluster.Create(plain.of(example(name)))
		made := waitHandled(x)
		kept, uid := stepsOf(made), made.Get("metadata.uid")
		if !strings.HasPrefix(kept, fmt.Sprintf(`{"handler":"create","epoch":0,"uid":%q,"kept":{"make":{"at":"`, uid)) || !strings.HasSuffix(kept, `,"kept":true,"result":"thing 1"}}}`) {
			t.Errorf("kept: %s", kept)
		}
		x.Patch(field("two")) // another state, without a handler for it
		x.Delete()
		x.WaitGone()
		stop()
		if s.made != 1 || s.left() > 0 || s.undone.count("recorded: false") > 0 {
			t.Errorf("%d made, %d left, undone: %v", s.made, s.left(), s.undone.all())
		}
		return s, len(proxy.Injected())
	}
	undisturbed, writes := run(t, "undisturbed", 0, false)
	undisturbed.undone.are(t, "recorded: true")
	if writes < 4 {
		t.Fatalf("%d writes, want the finalizer, the step, and the two ends", writes)
	}
	for n := 1; n <= writes; n++ {
		for _, when := range []string{"before", "after"} {
			t.Run(fmt.Sprintf("%s write %d of %d", when, n, writes), func(t *testing.T) {
				run(t, fmt.Sprintf("killed-%s-%d", when, n), n, when == "after")
			})
		}
	}
}

// TestOnUndo_DeletionInTheMiddle deletes an object whose creation is not finished.
func TestOnUndo_DeletionInTheMiddle(t *testing.T) {
	notYet := kopf.Temporaryf(time.Hour, "not yet")
	refused := kopftest.Fault{Kind: kopftest.FaultStatus, Code: 422}
	for name, test := range map[string]struct {
		restarted bool
		fault     kopftest.Fault
		want      string
	}{
		"recorded":              {false, kopftest.Fault{Kind: kopftest.FaultNone}, "recorded: true"},
		"recorded by another":   {true, kopftest.Fault{Kind: kopftest.FaultNone}, "recorded: true"},
		"refused":               {false, refused, "recorded: true"},
		"refused, then stopped": {true, refused, "recorded: false"},
	} {
		t.Run(name, func(t *testing.T) {
			cluster, s := newCluster(t), &store{}
			rule := kopftest.FaultRule{Match: writesOf(plain), Fault: test.fault, Skip: 1} // the first write adds the finalizer
			if !test.restarted {
				rule.Times = 1
			}
			proxy := cluster.FaultProxy(kopftest.Faults{Rules: []kopftest.FaultRule{rule}})
			op := cluster.Run(s.register(plain, notYet), proxy.Connect)
			x := cluster.Create(plain.of(example("x")))
			cluster.WaitUntil("the step is called, and its record is sent", func() bool { return s.left() == 1 && len(proxy.Injected()) > 0 })
			if test.restarted {
				op.Stop()
			}
			x.Delete()
			if test.restarted {
				cluster.Launch(s.register(plain, notYet), withoutInspector)
			}
			x.WaitGone()
			s.undone.are(t, test.want)
			if s.made != 1 || s.left() > 0 {
				t.Errorf("%d made, %d left", s.made, s.left())
			}
		})
	}
}

func TestOnUndo_CopyOfAnObjectUndoesNothing(t *testing.T) {
	cluster, s := newCluster(t), &store{}
	cluster.Run(s.register(plain, nil))
	made := waitHandled(cluster.Create(plain.of(example("x"))))
	twin := plain.of(example("twin"))
	twin["metadata"].(tree)["annotations"] = made.Get("metadata.annotations")
	x := cluster.Create(twin)
	waitHeld(x)
	x.Delete()
	x.WaitGone()
	s.undone.are(t, "recorded: false")
	if s.left() != 1 {
		t.Error("the thing of the original is removed")
	}
}

func TestOnUndo_SubHandlersAndFields(t *testing.T) {
	cluster := newCluster(t)
	var undone calls
	remove := func(id string) func(context.Context, *undo) error {
		return func(_ context.Context, u *undo) error {
			undone.add(fmt.Sprintf("%s: %s %t", id, u.Result, u.Recorded))
			return nil
		}
	}
	made := func(name string) func(context.Context, kopf.StepKey) (string, error) {
		return func(context.Context, kopf.StepKey) (string, error) { return name, nil }
	}
	cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, func(_ context.Context, c *change) error {
			c.Sub("sub", func(ctx context.Context, s *change) error {
				_, err := kopf.Step(ctx, s, "make", made("a"))
				return err
			})
			return nil
		}, kopf.ID("create"))
		kopf.OnField(r, kexes, "spec.field", func(ctx context.Context, c *kopf.FieldChange[string]) error {
			_, err := kopf.Step(ctx, c, "make", made(c.New))
			return err
		}, kopf.ID("on"), kopf.Reasons(kopf.ReasonCreate, kopf.ReasonUpdate))
		kopf.OnUndo(r, kexes, "create/sub", "make", remove("sub"), kopf.ID("undo_sub"))
		kopf.OnUndo(r, kexes, "on/spec.field", "make", remove("field"), kopf.ID("undo_field"))
		kopf.OnUndo(r, kexes, "create", "never", remove("never"), kopf.ID("undo_never"))
	})
	x := cluster.Create(example("x"))
	waitHandled(x)
	x.Patch(field("two")) // a step of an update is not undone
	waitHandled(x)
	x.Delete()
	x.WaitGone()
	undone.are(t, "sub: a true", "field: value true", "never:  false")
}
