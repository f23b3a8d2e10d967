package e2e

import (
	"context"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/shards"
	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

// setByField sets a condition whose type is the field of the object.
func setByField(_ context.Context, c *change) error {
	return c.SetCondition(metav1.Condition{Type: kopf.GetOr(c.Object, "spec.field", ""), Status: metav1.ConditionTrue, Reason: "Seen"})
}

// conditionsByField registers [setByField], and passes that keep a child: see [ownExample].
func conditionsByField(r *kopf.Registry, k *judged) {
	kopf.OnCreate(r, k.own.selector(), setByField, kopf.ID("set"))
	kopf.OnUpdate(r, k.own.selector(), setByField, kopf.ID("set"))
	kopf.OnReconcile(r, k.own.selector(), ownExample, kopf.Own{Resource: kexes})
}

// waitSeen waits for the conditions of an object at a generation: those of [setByField], written as "One@1 Two@2", and the operator's own
// with a reason.
func waitSeen(o *kopftest.Object, generation int, readiness, reason string, seen string) *kopf.Object {
	o.T().Helper()
	reconciling := map[string]string{"True": "False", "False": "True"}[readiness]
	all := []string{
		fmt.Sprintf("Ready=%s/%s@%d", readiness, reason, generation), fmt.Sprintf("Reconciling=%s/%s@%d", reconciling, reason, generation),
		fmt.Sprintf("Stalled=False/%s@%d", reason, generation),
	}
	for _, one := range strings.Fields(seen) {
		typ, at, _ := strings.Cut(one, "@")
		all = append(all, typ+"=True/Seen@"+at)
	}
	slices.Sort(all)
	return waitConditions(o, fmt.Sprint(generation, " ", strings.Join(all, " ")))
}

// notContested checks that the operator has not seen another program fight for the conditions.
func (k *judged) notContested() {
	k.T().Helper()
	if n := k.op.CountLog("Another program has changed the conditions"); n > 0 {
		k.T().Errorf("the operator contests the conditions of another replica, %d times", n)
	}
}

// wroteSince checks the number of requests for conditions after the first ones.
func (k *judged) wroteSince(before, want int) {
	k.T().Helper()
	if _, now := k.written("shop"); now-before != want {
		k.T().Errorf("%d requests for conditions, want %d", now-before, want)
	}
}

func TestConditions_PauseDuringAHandlerDelaysThem(t *testing.T) {
	entered, proceed := make(chan struct{}), make(chan struct{})
	var paused atomic.Bool
	k := judge(t, kex, conditionsByType, func(r *kopf.Registry, k *judged) {
		kopf.OnCreate(r, k.own.selector(), func(ctx context.Context, c *change) error {
			close(entered)
			<-proceed
			return setByField(ctx, c)
		}, kopf.ID("set"))
		kopf.OnReconcile(r, k.own.selector(), ownExample, kopf.Own{Resource: kexes})
		k.disturb = func(req *http.Request) strange {
			if paused.Load() && path.Base(req.URL.Path) == "status" {
				t.Error("a paused operator writes conditions")
			}
			return nil
		}
	})
	parent, child := k.Create(k.object("shop", "One")), k.Object(kex.name(), "shop")
	receive(k.Cluster, "the handler is called", entered)
	k.op.Pause()
	paused.Store(true)
	close(proceed)
	parent.WaitFor("the outcome of the handler is recorded", func(o *kopf.Object) bool { return o.Get("metadata.annotations") != nil })
	parent.Set("spec.field", "two")
	if now := parent.Get(); now.Get("status.conditions") != nil {
		t.Errorf("the conditions are %s", conditionsOf(now))
	}
	paused.Store(false)
	k.op.Resume()
	waitSeen(parent, 2, "False", "ChildrenNotReady", "One@1")
	setStatus(child, ready("True"))
	waitSeen(parent, 2, "True", "Complete", "One@1")
	k.op.CheckIdle(parent)

	_, before := k.written("shop")
	k.op.Pause()
	paused.Store(true)
	setStatus(child, ready("False"))
	setStatus(child, ready("True"))
	paused.Store(false)
	k.op.Resume()
	k.op.CheckIdle(parent)
	k.wroteSince(before, 0)
	k.notContested()
}

// Another replica, such as a peer of a higher priority, handles the object while the operator is paused.
func TestConditions_OfAnotherReplicaDuringAPauseStay(t *testing.T) {
	first := judge(t, kex, conditionsByType, conditionsByField)
	parent, child := first.Create(first.object("shop", "One")), first.Object(kex.name(), "shop")
	child.WaitValue("spec.field", "One")
	setStatus(child, ready("True"))
	waitSeen(parent, 1, "True", "Complete", "One@1")
	first.op.CheckIdle(parent)

	first.op.Pause()
	second := first.beside()
	second.run(conditionsByField)
	second.op.CheckIdle(parent)
	second.wroteSince(0, 0)
	setStatus(child, ready("False"))
	waitSeen(parent, 1, "False", "ChildrenNotReady", "One@1")
	second.op.CheckIdle(parent)
	second.op.Stop()
	setStatus(child, ready("True"))
	_, before := first.written("shop")
	first.op.Resume()
	waitSeen(parent, 1, "True", "Complete", "One@1") // as it was before the pause
	first.wroteSince(before, 1)
	first.op.CheckIdle(parent)

	first.op.Pause()
	second.op.Start()
	parent.Set("spec.field", "Two")
	waitSeen(parent, 2, "True", "Complete", "One@1 Two@2")
	second.op.WaitHandled(parent)
	second.op.Stop()
	_, before = first.written("shop")
	first.op.Resume()
	first.op.CheckIdle(parent)
	first.wroteSince(before, 0)
	parent.Set("spec.field", "Three")
	waitSeen(parent, 3, "True", "Complete", "One@1 Two@2 Three@3")
	first.op.CheckIdle(parent)
	first.wroteSince(before, 1)
	first.notContested()
	second.notContested()
}

func TestConditions_ReplicaThatLostItsLeaseWritesNone(t *testing.T) {
	k := judgeIn(t, kex, conditionsByType)
	begun, ended, proceed := make(chan struct{}), make(chan struct{}), make(chan struct{})
	var lost atomic.Bool
	k.run(func(r *kopf.Registry, k *judged) {
		kopf.OnReconcile(r, k.own.selector(), func(ctx context.Context, p *kopf.Pass[kopf.Object]) error {
			reason := "Held"
			if lost.CompareAndSwap(false, true) {
				close(begun)
				<-ctx.Done()
				close(ended)
				<-proceed
				reason = "Lost"
			}
			return p.SetCondition(metav1.Condition{Type: "Lease", Status: metav1.ConditionTrue, Reason: reason})
		})
	}, sharded(k.Cluster, "only", false))
	owns(k.op, manyShards)
	seen := followConditions(t, k)
	parent := k.Create(k.object("shop", "one"))
	receive(k.Cluster, "the pass begins", begun)
	shard := shards.Division{Shards: manyShards, Key: shards.ByUID}.Of(&object.Object{UID: uidNow(parent)})
	k.Object("leases.coordination.k8s.io", fmt.Sprint("replicas-", shard)).Patch(tree{"spec": tree{"holderIdentity": "another"}})
	receive(k.Cluster, "the context of the handler has ended", ended)
	close(proceed)
	owns(k.op, manyShards) // once that lease has expired
	const want = "1 Lease=True/Held@1 Ready=True/Complete@1 Reconciling=False/Complete@1 Stalled=False/Complete@1"
	waitConditions(parent, want)
	k.op.CheckIdle(parent)
	k.WaitUntil("the test has seen the last version", func() bool { return slices.Contains(seen.all(), want) })
	if slices.ContainsFunc(seen.all(), func(s string) bool { return strings.Contains(s, "Lost") }) {
		t.Errorf("a replica without the lease has written conditions: %q", seen.all())
	}
}

// conditionsSeen are the conditions of all versions of objects.
type conditionsSeen struct {
	mu   sync.Mutex
	seen []string
}

func followConditions(t *testing.T, k *judged) *conditionsSeen {
	t.Helper()
	s := &conditionsSeen{}
	res := &resources.Resource{Group: k.own.group, Version: "v1", Plural: k.own.plural, Kind: k.own.kind, Namespaced: true}
	follow(t, k.Cluster, res, func(o tree) {
		status, _ := o["status"].(tree)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.seen = append(s.seen, conditionsIn(status))
	})
	return s
}

func (s *conditionsSeen) all() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seen)
}

func TestConditions_OfMovedShardsHaveOneManager(t *testing.T) {
	first := judgeIn(t, kex, conditionsByType)
	managers := &calls{}
	register := func(r *kopf.Registry, k *judged) {
		conditionsByField(r, k)
		k.disturb = func(req *http.Request) strange {
			if path.Base(req.URL.Path) == "status" {
				managers.add(req.URL.Query().Get("fieldManager"))
			}
			return nil
		}
	}
	first.run(register, sharded(first.Cluster, "first", false), longLeases)
	owns(first.op, manyShards)
	var parents []*kopftest.Object
	for i := range 6 {
		name := fmt.Sprint("shop-", i)
		parents = append(parents, first.Create(first.object(name, "One")))
		child := first.Object(kex.name(), name)
		child.WaitValue("spec.field", "One")
		setStatus(child, ready("True"))
	}
	for _, p := range parents {
		waitSeen(p, 1, "True", "Complete", "One@1")
		first.op.CheckIdle(p)
	}
	second := first.beside()
	second.run(register, sharded(first.Cluster, "second", false), longLeases)
	owns(second.op, manyShards/2)
	first.op.Stop()
	owns(second.op, manyShards)
	for _, p := range parents {
		second.op.CheckIdle(p)
		if _, n := second.written(p.Name); n != 0 {
			t.Errorf("%d requests for conditions of %s at its move", n, p.Name)
		}
	}
	for _, p := range parents {
		p.Set("spec.field", "Two")
	}
	for _, p := range parents {
		waitSeen(p, 2, "True", "Complete", "One@1 Two@2")
		second.op.CheckIdle(p)
		if _, n := second.written(p.Name); n != 1 {
			t.Errorf("%d requests for one change of %s", n, p.Name)
		}
	}
	if names := slices.Compact(managers.all()); len(names) != 1 || !strings.HasSuffix(names[0], "-status") {
		t.Errorf("the managers of the conditions are %q", names)
	}
	first.notContested()
	second.notContested()
}

// Kopf for Python handles the object while the operator is paused. A recorded run has its requests.
func TestConditions_SurviveKopfForPython(t *testing.T) {
	k := judge(t, kex, conditionsByType, conditionsByField)
	parent := k.Create(k.own.of(example("shop")))
	child := k.Object(kex.name(), "shop")
	child.WaitValue("spec.field", "value")
	setStatus(child, ready("True"))
	before := asJSON(waitSeen(parent, 1, "True", "Complete", "value@1").Get("status.conditions"))
	k.op.CheckIdle(parent)
	survive := func(request any) {
		t.Helper()
		if now := asJSON(parent.Get().Get("status.conditions")); now != before {
			t.Fatalf("after %v, the conditions are %s, formerly %s", request, now, before)
		}
	}
	_, n := k.written("shop")
	k.op.Pause()
	edits := []tree{{"spec": tree{"field": "v2"}}, {"metadata": tree{"labels": tree{"x": "y"}}}}
	for _, e := range recording(t, "05-handlers") {
		if strings.HasPrefix(e.Step, "STEP restart") {
			break
		}
		switch {
		case e.Patch == "merge":
			parent.Patch(e.Payload)
		case e.Patch == "json":
			parent.Patch(tree{"metadata": tree{"finalizers": []any{"kopf.zalando.org/KopfFinalizerMarker"}}})
		case strings.HasPrefix(e.Step, "STEP patch ("):
			parent.Patch(edits[0])
			edits = edits[1:]
		default:
			continue
		}
		survive(e)
	}
	parent.Patch(tree{"status": tree{"create_fn": tree{"message": "hello world"}}})
	survive("the result of a handler")
	k.op.Resume()
	before = asJSON(waitSeen(parent, 2, "True", "Complete", "value@1").Get("status.conditions"))
	k.op.CheckIdle(parent)
	k.wroteSince(n, 1) // the generation alone, because its change is handled

	progress := tree{"create_fn": tree{"started": "2020-01-01T00:00:00.000000", "purpose": "create", "retries": 1, "success": false, "failure": false}}
	for _, patch := range []tree{
		{"status": tree{"kopf": tree{"progress": progress}}}, {"metadata": tree{"annotations": tree{"kopf.zalando.org/touch-dummy": "2020-01-01"}}},
		{"status": tree{"kopf": nil}}, {"metadata": tree{"annotations": tree{"kopf.zalando.org/touch-dummy": nil}}},
	} {
		parent.Patch(patch)
		survive(patch)
	}
	k.op.CheckIdle(parent)
	survive("the run of both operators")
	k.wroteSince(n, 1)
	k.notContested()
}
