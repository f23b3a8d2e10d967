package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

// conditionsByType and conditionsAtomic are schemas of a list of conditions.
var (
	conditionsByType = tree{
		"type": "array", "items": conditionSchema, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": []any{"type"},
	}
	conditionsAtomic = tree{"type": "array", "items": conditionSchema}

	conditionSchema = tree{
		"type": "object", "required": []any{"lastTransitionTime", "message", "reason", "status", "type"},
		"properties": tree{
			"type": tree{"type": "string"}, "status": tree{"type": "string"}, "message": tree{"type": "string"},
			"reason": tree{"type": "string", "minLength": 1}, "observedGeneration": tree{"type": "integer", "format": "int64"},
			"lastTransitionTime": tree{"type": "string", "format": "date-time"},
		},
	}
)

// judged is an operator that keeps conditions, with its requests.
type judged struct {
	*kopftest.Cluster
	op  *kopftest.Operator
	own custom

	mu      sync.Mutex
	writes  []string // PATCH requests of the parents, such as "shop/status"
	disturb func(*http.Request) strange
}

// judgeIn defines a resource whose status has the conditions of a schema. Nil stands for a status without conditions.
func judgeIn(t *testing.T, own custom, conditions tree) *judged {
	t.Helper()
	k := &judged{Cluster: newCluster(t), own: own}
	k.own.group = k.Namespace + ".kopf.dev"
	fields := tree{"observedGeneration": tree{"type": "integer", "format": "int64"}, "note": tree{"type": "string"}, "kopf": anyFields, "create_fn": anyFields}
	if conditions != nil {
		fields["conditions"] = conditions
	}
	k.own.defineAs(k.Cluster, tree{"type": "object", "properties": tree{"spec": anyFields, "status": tree{"type": "object", "properties": fields}}})
	return k
}

// judge runs an operator that keeps conditions of a new resource: see [judgeIn].
func judge(t *testing.T, own custom, conditions tree, register func(*kopf.Registry, *judged), configure ...func(*kopf.Operator)) *judged {
	t.Helper()
	k := judgeIn(t, own, conditions)
	k.run(register, configure...)
	return k
}

// beside returns another operator of the same resource, which does not run yet.
func (k *judged) beside() *judged { return &judged{Cluster: k.Cluster, own: k.own} }

func (k *judged) run(register func(*kopf.Registry, *judged), configure ...func(*kopf.Operator)) {
	k.T().Helper()
	k.op = k.Run(func(r *kopf.Registry) {
		kopf.Conditions(r, k.own.selector())
		register(r, k)
	}, append(configure, transport(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(req *http.Request) (*http.Response, error) {
			if s := k.note(req); s != nil {
				return s(req, next)
			}
			return next.RoundTrip(req)
		})
	}))...)
}

func (k *judged) note(req *http.Request) strange {
	_, object, ours := strings.Cut(req.URL.Path, "/"+k.own.plural+"/")
	if !ours || req.Method != http.MethodPatch {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.writes = append(k.writes, object)
	if k.disturb == nil {
		return nil
	}
	return k.disturb(req)
}

// written returns the number of the requests so far, and the requests that apply conditions of an object.
func (k *judged) written(name string) (all, conditions int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, object := range k.writes {
		if object == name || object == name+"/status" {
			all++
		}
		if object == name+"/status" {
			conditions++
		}
	}
	return all, conditions
}

// object returns a parent with a field.
func (k *judged) object(name, field string) tree {
	return k.own.of(tree{"metadata": tree{"name": name}, "spec": tree{"field": field}})
}

// settled waits until another object is handled, which is created after everything else has happened.
func (k *judged) settled(name string) {
	k.T().Helper()
	probe := k.Create(k.object("probe-"+name, "ok"))
	k.op.WaitHandled(probe)
	waitConditions(probe, "1 Ready=True/Complete@1 Reconciling=False/Complete@1 Stalled=False/Complete@1")
}

// conditionsOf returns the observed generation and the conditions of an object, sorted by their types.
func conditionsOf(o *kopf.Object) string {
	status, _ := o.Get("status").(tree)
	return conditionsIn(status)
}

func conditionsIn(status tree) string {
	list, _ := status["conditions"].([]any)
	var all []string
	for _, item := range list {
		c, _ := item.(tree)
		text := fmt.Sprintf("%v=%v/%v", c["type"], c["status"], c["reason"])
		if generation := c["observedGeneration"]; generation != nil {
			text += fmt.Sprintf("@%v", generation)
		}
		all = append(all, text)
	}
	slices.Sort(all)
	return strings.Join(append([]string{fmt.Sprint(status["observedGeneration"])}, all...), " ")
}

func waitConditions(o *kopftest.Object, want string) *kopf.Object {
	o.T().Helper()
	return o.WaitFor("its conditions are "+want, func(o *kopf.Object) bool { return conditionsOf(o) == want })
}

func messageOf(o *kopf.Object, typ string) string {
	list, _ := o.Get("status.conditions").([]any)
	for _, item := range list {
		if c, _ := item.(tree); c["type"] == typ {
			return fmt.Sprint(c["message"])
		}
	}
	return ""
}

// setStatus replaces fields of the status of an object.
func setStatus(o *kopftest.Object, status tree) {
	o.T().Helper()
	o.Patch(tree{"status": status})
}

// ownExample declares the children of the tests: objects whose status the test writes.
func ownExample(ctx context.Context, p *kopf.Pass[kopf.Object]) error {
	return p.Apply(ctx, &unstructured.Unstructured{Object: kex.of(tree{"spec": tree{"field": kopf.GetOr(p.Object, "spec.field", "")}})})
}

func reconciling(handler func(context.Context, *kopf.Pass[kopf.Object]) error) func(*kopf.Registry, *judged) {
	return func(r *kopf.Registry, k *judged) {
		kopf.OnReconcile(r, k.own.selector(), handler, kopf.Own{Resource: kexes})
	}
}

func ready(status string) tree {
	return tree{"conditions": []any{tree{"type": "Ready", "status": status, "message": "it is " + status}}}
}

func TestConditions_FollowTheChildren(t *testing.T) {
	k := judge(t, kex, conditionsByType, reconciling(ownExample))
	parent := k.Create(k.object("shop", "one"))
	child := k.Object(kex.name(), "shop")
	child.WaitValue("spec.field", "one")
	now := waitConditions(parent, "1 Ready=False/ChildrenNotReady@1 Reconciling=True/ChildrenNotReady@1 Stalled=False/ChildrenNotReady@1")
	if message := messageOf(now, "Ready"); !strings.HasPrefix(message, "KopfExample shop: ") {
		t.Errorf("the message is %q", message)
	}
	setStatus(child, ready("True"))
	first := waitConditions(parent, "1 Ready=True/Complete@1 Reconciling=False/Complete@1 Stalled=False/Complete@1")

	before, _ := k.written("shop")
	parent.Set("spec.field", "two")
	second := waitConditions(parent, "2 Ready=True/Complete@2 Reconciling=False/Complete@2 Stalled=False/Complete@2")
	k.op.WaitHandled(parent)
	if after, _ := k.written("shop"); after-before > 2 {
		t.Errorf("%d requests for a change, want at most 2", after-before)
	}
	if a, b := first.Get("status.conditions[0].lastTransitionTime"), second.Get("status.conditions[0].lastTransitionTime"); a != b {
		t.Errorf("the unchanged condition has changed at %v, formerly at %v", b, a)
	}
	setStatus(child, tree{"conditions": []any{tree{"type": "Stalled", "status": "True", "message": "out of disks"}}})
	now = waitConditions(parent, "2 Ready=False/ChildFailed@2 Reconciling=False/ChildFailed@2 Stalled=True/ChildFailed@2")
	if message := messageOf(now, "Stalled"); message != "KopfExample shop: it is stalled: out of disks" {
		t.Errorf("the message is %q", message)
	}
	_, n := k.written("shop")
	if n != 4 {
		t.Errorf("%d requests for 4 changes of conditions", n)
	}
}

func TestConditions_RestartAndRestWriteNothing(t *testing.T) {
	k := judge(t, kex, conditionsByType, func(r *kopf.Registry, k *judged) {
		kopf.OnReconcile(r, k.own.selector(), func(context.Context, *kopf.Pass[kopf.Object]) error { return nil })
		kopf.OnResume(r, k.own.selector(), func(context.Context, *change) error { return nil }, kopf.ID("resumed"))
	})
	parent := k.Create(k.object("shop", "one"))
	done := waitConditions(parent, "1 Ready=True/Complete@1 Reconciling=False/Complete@1 Stalled=False/Complete@1")
	k.op.WaitHandled(parent)
	k.settled("a")
	_, n := k.written("shop")
	if n != 1 {
		t.Errorf("%d requests for one change", n)
	}
	k.op.Restart()
	k.op.WaitHandled(parent)
	k.settled("b")
	parent.Annotate("example.com/other", "1") // an event without work for the conditions
	k.op.WaitHandled(parent)
	k.settled("c")
	if _, after := k.written("shop"); after != n {
		t.Errorf("%d requests at rest", after-n)
	}
	if now := parent.Get(); conditionsOf(now) != conditionsOf(done) {
		t.Error(conditionsOf(now))
	}
}

func TestConditions_OfPassesThatEndOtherwise(t *testing.T) {
	k := judge(t, kex, conditionsByType, reconciling(func(_ context.Context, p *kopf.Pass[kopf.Object]) error {
		switch field := kopf.GetOr(p.Object, "spec.field", ""); field {
		case "wait":
			return kopf.Waitf(0, "no disk yet")
		case "retry":
			return kopf.Temporaryf(-1, "disk is full") // the next attempt is at once
		case "fail":
			return kopf.Permanentf("no such disk")
		}
		return nil
	}))
	parent := k.Create(k.object("shop", "wait"))
	now := waitConditions(parent, "1 Ready=False/Waiting@1 Reconciling=True/Waiting@1 Stalled=False/Waiting@1")
	if message := messageOf(now, "Reconciling"); message != "no disk yet" {
		t.Errorf("the message is %q", message)
	}
	parent.Set("spec.field", "retry")
	now = waitConditions(parent, "1 Ready=False/Retrying@2 Reconciling=True/Retrying@2 Stalled=False/Retrying@2")
	if message := messageOf(now, "Reconciling"); message != "disk is full" {
		t.Errorf("the message is %q", message)
	}
	parent.Set("spec.field", "fail")
	now = waitConditions(parent, "3 Ready=False/Failed@3 Reconciling=False/Failed@3 Stalled=True/Failed@3")
	if message := messageOf(now, "Stalled"); message != "no such disk" {
		t.Errorf("the message is %q", message)
	}
	parent.Set("spec.field", "ok")
	waitConditions(parent, "4 Ready=True/Complete@4 Reconciling=False/Complete@4 Stalled=False/Complete@4")
}

func TestConditions_ChildThatIsLateHasFailed(t *testing.T) {
	own := owning("v1 configmaps")[0]
	own.ReadyWithin = time.Second
	own.ReadyIf = func(*kopf.Object) error { return errors.New("no leader") }
	k := judge(t, kex, conditionsByType, func(r *kopf.Registry, k *judged) {
		kopf.OnReconcile(r, k.own.selector(), func(ctx context.Context, p *kopf.Pass[kopf.Object]) error {
			return p.Apply(ctx, &unstructured.Unstructured{Object: tree{"apiVersion": "v1", "kind": "ConfigMap"}})
		}, own)
	})
	parent := k.Create(k.object("shop", "one"))
	now := waitConditions(parent, "1 Ready=False/ChildFailed@1 Reconciling=False/ChildFailed@1 Stalled=True/ChildFailed@1")
	if message := messageOf(now, "Stalled"); message != "ConfigMap shop: not ready within 1s: no leader" {
		t.Errorf("the message is %q", message)
	}
}

func TestConditions_OfChangeHandlersAlone(t *testing.T) {
	k := judge(t, kex, conditionsByType, func(r *kopf.Registry, k *judged) {
		handle := func(_ context.Context, c *change) error {
			switch kopf.GetOr(c.Object, "spec.field", "") {
			case "retry":
				return errors.New("not yet")
			case "fail":
				return kopf.Permanentf("never")
			}
			return nil
		}
		for _, id := range []string{"one", "two"} {
			kopf.OnCreate(r, k.own.selector(), handle, kopf.ID(id))
			kopf.OnUpdate(r, k.own.selector(), handle, kopf.ID(id), kopf.RetryDelay(100*time.Millisecond))
		}
	})
	parent := k.Create(k.object("shop", "ok"))
	waitConditions(parent, "1 Ready=True/Complete@1 Reconciling=False/Complete@1 Stalled=False/Complete@1")
	if _, n := k.written("shop"); n != 1 {
		t.Errorf("%d requests for conditions, want 1 after both handlers", n)
	}
	parent.Set("spec.field", "retry")
	now := waitConditions(parent, "1 Ready=False/Retrying@2 Reconciling=True/Retrying@2 Stalled=False/Retrying@2")
	if message := messageOf(now, "Ready"); message != "handler one: not yet" {
		t.Errorf("the message is %q", message)
	}
	parent.Set("spec.field", "fail")
	now = waitConditions(parent, "3 Ready=False/Failed@3 Reconciling=False/Failed@3 Stalled=True/Failed@3")
	if message := messageOf(now, "Ready"); message != "handler one: never" {
		t.Errorf("the message is %q", message)
	}
	_, n := k.written("shop")
	k.op.Restart()
	k.settled("a")
	if _, after := k.written("shop"); after != n {
		t.Errorf("%d requests after the restart", after-n)
	}
	parent.Set("spec.field", "fine")
	waitConditions(parent, "4 Ready=True/Complete@4 Reconciling=False/Complete@4 Stalled=False/Complete@4")
	// An edit that is undone raises the generation, although nothing is handled.
	k.op.Stop()
	parent.Set("spec.field", "undone")
	parent.Set("spec.field", "fine")
	k.op.Start()
	waitConditions(parent, "6 Ready=True/Complete@6 Reconciling=False/Complete@6 Stalled=False/Complete@6")
}

func TestConditions_OfHandlersStayAcrossRestarts(t *testing.T) {
	k := judge(t, kex, conditionsByType, func(r *kopf.Registry, k *judged) {
		set := func(_ context.Context, c *change) error {
			disk := metav1.Condition{Type: "DiskReady", Status: metav1.ConditionTrue, Reason: "Provisioned", Message: "10 GiB"}
			switch kopf.GetOr(c.Object, "spec.field", "") {
			case "removed":
				disk.Status = ""
			case "kept":
				return nil
			case "refused":
				disk.Type = "Ready"
			}
			return c.SetCondition(disk)
		}
		kopf.OnCreate(r, k.own.selector(), set, kopf.ID("set"))
		kopf.OnUpdate(r, k.own.selector(), set, kopf.ID("set"))
	})
	parent := k.Create(k.object("shop", "set"))
	waitConditions(parent, "1 DiskReady=True/Provisioned@1 Ready=True/Complete@1 Reconciling=False/Complete@1 Stalled=False/Complete@1")
	k.op.WaitHandled(parent)
	others := listOf("Others")["conditions"].([]any)
	setStatus(parent, tree{"conditions": append(others, parent.Get().Get("status.conditions").([]any)...)})
	k.op.Restart()
	parent.Set("spec.field", "kept")
	waitConditions(parent, "2 DiskReady=True/Provisioned@1 Others=True/Given Ready=True/Complete@2 Reconciling=False/Complete@2 Stalled=False/Complete@2")
	parent.Set("spec.field", "refused")
	now := waitConditions(parent, "3 DiskReady=True/Provisioned@1 Others=True/Given Ready=False/Failed@3 Reconciling=False/Failed@3 Stalled=True/Failed@3")
	if message := messageOf(now, "Ready"); !strings.Contains(message, "the operator itself keeps this condition") {
		t.Errorf("the message is %q", message)
	}
	k.op.Restart()
	parent.Set("spec.field", "removed")
	waitConditions(parent, "4 Others=True/Given Ready=True/Complete@4 Reconciling=False/Complete@4 Stalled=False/Complete@4")
}

func TestConditions_OfTimersAreWritten(t *testing.T) {
	k := judge(t, kex, conditionsByType, func(r *kopf.Registry, k *judged) {
		kopf.OnCreate(r, k.own.selector(), func(context.Context, *change) error { return nil }, kopf.ID("created"))
		kopf.Timer(r, k.own.selector(), func(_ context.Context, tick *tick) error {
			return tick.SetCondition(metav1.Condition{Type: "Probed", Status: metav1.ConditionUnknown, Reason: "Silent"})
		}, kopf.ID("probe"), kopf.Interval(time.Hour))
	})
	parent := k.Create(k.object("shop", "ok"))
	waitConditions(parent, "1 Probed=Unknown/Silent@1 Ready=True/Complete@1 Reconciling=False/Complete@1 Stalled=False/Complete@1")
}

// listOf returns a list of conditions with one of another program.
func listOf(typ string) tree {
	return tree{"conditions": []any{tree{
		"type": typ, "status": "True", "reason": "Given", "message": "", "lastTransitionTime": "2026-01-02T03:04:05Z",
	}}}
}

func TestConditions_AtomicListKeepsThoseOfOthers(t *testing.T) {
	k := judge(t, kex, conditionsAtomic, reconciling(ownExample))
	k.op.Stop()
	parent := k.Create(k.object("shop", "one"))
	setStatus(parent, listOf("Others"))
	k.op.Start()
	waitConditions(parent, "1 Others=True/Given Ready=False/ChildrenNotReady@1 Reconciling=True/ChildrenNotReady@1 Stalled=False/ChildrenNotReady@1")
	k.op.WaitLog("declares status.conditions as an atomic list")
	setStatus(k.Object(kex.name(), "shop"), ready("True"))
	waitConditions(parent, "1 Others=True/Given Ready=True/Complete@1 Reconciling=False/Complete@1 Stalled=False/Complete@1")
	if _, n := k.written("shop"); n != 2 {
		t.Errorf("%d requests for 2 changes", n)
	}
}

func TestConditions_WithoutTheFieldWarnOnceAndWriteNothing(t *testing.T) {
	k := judge(t, kex, nil, reconciling(func(context.Context, *kopf.Pass[kopf.Object]) error { return nil }))
	for _, name := range []string{"a", "b"} {
		k.op.WaitHandled(k.Create(k.object(name, "ok")))
	}
	k.op.WaitLog("does not declare status.conditions")
	k.op.WaitHandled(k.Create(k.object("c", "ok")))
	for _, name := range []string{"a", "b", "c"} {
		if _, n := k.written(name); n != 0 {
			t.Errorf("%d requests", n)
		}
	}
	if n := k.op.CountLog("does not declare status.conditions"); n != 1 {
		t.Errorf("%d warnings", n)
	}
}

func TestConditions_WithoutSubresourceDoNotLoop(t *testing.T) {
	k := judge(t, plain, conditionsByType, reconciling(func(context.Context, *kopf.Pass[kopf.Object]) error { return nil }))
	parent := k.Create(k.object("shop", "one"))
	waitConditions(parent, "<nil> Ready=True/Complete Reconciling=False/Complete Stalled=False/Complete")
	parent.Set("spec.field", "two")
	k.op.WaitHandled(parent)
	probe := k.Create(k.object("probe", "one"))
	waitConditions(probe, "<nil> Ready=True/Complete Reconciling=False/Complete Stalled=False/Complete")
	if all, _ := k.written("shop"); all > 3 {
		t.Errorf("%d requests, want at most 2 for the creation and 1 for the change", all)
	}
}

func TestConditions_FailedRequestsAreRepeated(t *testing.T) {
	for name, s := range map[string]strange{"409": failing(409), "500": failing(500), "403": failing(403), "lost": lost} {
		t.Run(name, func(t *testing.T) {
			k := judge(t, kex, conditionsByType, func(r *kopf.Registry, k *judged) {
				kopf.OnCreate(r, k.own.selector(), func(context.Context, *change) error { return nil }, kopf.ID("created"))
				left := 3
				k.disturb = func(req *http.Request) strange {
					if path.Base(req.URL.Path) != "status" || left == 0 {
						return nil
					}
					left--
					return s
				}
			}, settings(impatient))
			parent := k.Create(k.object("shop", "ok"))
			waitConditions(parent, "1 Ready=True/Complete@1 Reconciling=False/Complete@1 Stalled=False/Complete@1")
			k.op.WaitHandled(parent)
			if n := k.op.CountLog("Handler 'created' succeeded"); n != 1 {
				t.Errorf("the handler has succeeded %d times", n)
			}
		})
	}
}

func TestConditions_OfBuiltInResourcesStay(t *testing.T) {
	cluster := newCluster(t)
	op := cluster.Run(func(r *kopf.Registry) {
		maps := kopf.Resource("v1", "configmaps")
		kopf.Conditions(r, maps)
		kopf.OnCreate(r, maps, func(context.Context, *change) error { return nil }, kopf.ID("created"))
	})
	op.WaitHandled(cluster.Create(configMap("x", nil)))
	op.WaitLog("the conditions of Kubernetes' own resources belong to its controllers")
}
