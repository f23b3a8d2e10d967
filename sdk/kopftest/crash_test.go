package kopftest

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

// buckets is an operator that creates a bucket outside of the cluster for each widget, and a ConfigMap with a generated name.
type buckets struct {
	cloud    Outside
	keyed    bool // the bucket has a key
	generate bool // makes the ConfigMap
}

func (b *buckets) register(r *kopf.Registry) {
	kopf.OnCreate(r, widgets, b.create, kopf.ID("create"))
	kopf.OnUpdate(r, widgets, func(_ context.Context, c *request) error {
		c.Patch.Set("status.size", kopf.GetOr(c.Body, "spec.size", 0))
		return nil
	}, kopf.ID("update"))
	kopf.OnDelete(r, widgets, func(ctx context.Context, c *request) error {
		return b.cloud.Do(ctx, "DeleteBucket", string(c.UID), func() error { return nil })
	}, kopf.ID("delete"))
}

func (b *buckets) create(ctx context.Context, c *request) error {
	key := ""
	if b.keyed {
		key = string(c.UID)
	}
	if err := b.cloud.Do(ctx, "CreateBucket", key, func() error { return nil }); err != nil {
		return err
	}
	if !b.generate {
		return nil
	}
	client, err := dynamic.NewForConfig(kopf.RESTConfig(ctx))
	if err != nil {
		return err
	}
	_, err = client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace(c.Namespace).Create(ctx,
		&unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"generateName": "bucket-"},
		}}, metav1.CreateOptions{})
	return err
}

func widgetLife(c *Crashing) {
	c.Apply(widgetsCRD)
	c.Start()
	w := c.Apply(widget)
	c.WaitHandled(w)
	w.Set("spec.size", 2)
	c.WaitHandled(w)
	w.Delete()
	w.WaitGone()
}

func TestEveryCrash_OperatorWithKeysSurvives(t *testing.T) {
	t.Parallel()
	b := &buckets{keyed: true}
	EveryCrash(t, CrashPlan{Register: b.register, Outside: &b.cloud}, widgetLife)
}

// differencesAt tries some points of a plan, and returns the differences of the outcomes.
func differencesAt(t *testing.T, plan CrashPlan, names ...string) []string {
	t.Helper()
	undisturbed := undisturbedRun(t, plan, widgetLife)
	plan.patience = time.Millisecond // when the scenario has ended, no controller changes its objects any longer
	found := make([]string, len(names))
	for i, name := range names {
		at := slices.IndexFunc(undisturbed.points, func(p crashPoint) bool { return p.String() == name })
		if at < 0 {
			t.Fatalf("there is no point %s in %v", name, undisturbed.points)
		}
		point := undisturbed.points[at]
		scope := &scopedTest{TB: t}
		reached, differences := point.run(scope, plan, widgetLife, undisturbed.outcome)
		scope.cleanUp()
		if !reached {
			t.Errorf("%s was not reached", point)
		}
		found[i] = differences
	}
	return found
}

func TestEveryCrash_FindsRepeatedEffect(t *testing.T) {
	t.Parallel()
	b := &buckets{}
	plan := CrashPlan{Register: b.register, Outside: &b.cloud}
	found := differencesAt(t, plan, "before CreateBucket", "after CreateBucket", "before PATCH widgets/one (2)", "after PATCH widgets/one (2)")
	if found[0]+found[3] != "" {
		t.Errorf("neither point repeats an effect:\n%s\n%s", found[0], found[3])
	}
	for _, differences := range found[1:3] {
		wantAll(t, differences, `CreateBucket had 2 effects, want 1: [key "" in life 1 key "" in life 2]`, "Pass a key")
	}
	b.cloud.Repeatable = []string{"CreateBucket"}
	if found := differencesAt(t, plan, "after CreateBucket"); found[0] != "" {
		t.Errorf("the effect may be repeated: %s", found[0])
	}
}

func TestEveryCrash_FindsObjectMadeTwice(t *testing.T) {
	t.Parallel()
	b := &buckets{keyed: true, generate: true}
	found := differencesAt(t, CrashPlan{Register: b.register, Outside: &b.cloud}, "before POST configmaps", "after POST configmaps")
	if found[0] != "" {
		t.Errorf("no object is made twice: %s", found[0])
	}
	wantAll(t, found[1], "ConfigMap bucket-GENERATED: 2 exist, want 1", "Give the object a name")
}

func TestOutside_DoesEachKeyOnce(t *testing.T) {
	var cloud Outside
	effects := 0
	do := func(key string, err error) error {
		return cloud.Do(t.Context(), "Create", key, func() error {
			if err == nil {
				effects++
			}
			return err
		})
	}
	if err := do("a", errors.New("busy")); err == nil {
		t.Error("the error of the effect is lost")
	}
	for _, key := range []string{"a", "a", "b", "", ""} {
		if err := do(key, nil); err != nil {
			t.Error(err)
		}
	}
	if effects != 4 {
		t.Errorf("%d effects, want 4", effects)
	}
}

func TestOrderPoints_ClassesFirst(t *testing.T) {
	var points []crashPoint
	for nth := range 20 {
		points = append(points, crashPoint{event: "PATCH a", class: "1", nth: nth + 1}, crashPoint{event: "PATCH b", class: "2", nth: nth + 1})
	}
	first, classes := orderPoints(points, rand.New(rand.NewPCG(1, 0)))
	if classes != 2 || len(first) != 40 || first[0].String() != "before PATCH a" || first[1].String() != "before PATCH b" {
		t.Errorf("%d classes, first %v", classes, first[:2])
	}
	second, _ := orderPoints(points, rand.New(rand.NewPCG(1, 0)))
	for i := range first {
		if first[i] != second[i] {
			t.Fatalf("the same seed leads to %v and %v", first, second)
		}
	}
}

func TestSetBy_KeepsFieldsOfManagers(t *testing.T) {
	o := treeOf(t, `
apiVersion: v1
kind: Service
metadata:
  name: x
  annotations: {a: "1", b: "2"}
  finalizers: [mine, others]
  managedFields:
    - {manager: op, fieldsV1: {"f:metadata": {"f:annotations": {".": {}, "f:a": {}}, "f:finalizers": {'v:"mine"': {}}}}}
    - {manager: op, fieldsV1: {"f:spec": {"f:ports": {'k:{"port":80}': {".": {}, "f:port": {}}}, "f:selector": {}}}}
    - {manager: other, fieldsV1: {"f:metadata": {"f:annotations": {"f:b": {}}}, "f:spec": {"f:clusterIP": {}}}}
spec: {clusterIP: 10.0.0.1, selector: {app: x}, ports: [{port: 80, name: web}, {port: 81}]}
`)
	got := asJSON(setBy(o, map[string]bool{"op": true}))
	const want = `{"apiVersion":"v1","kind":"Service","metadata":{"annotations":{"a":"1"},"finalizers":["mine"],"name":"x"},` +
		`"spec":{"ports":[{"port":80}],"selector":{"app":"x"}}}`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestFieldsIn_NamesChangedFields(t *testing.T) {
	for body, want := range map[string]string{
		`{"metadata":{"annotations":{"kopf.dev/create":"{}","kopf.dev/x":null}}}`: ".metadata.annotations.kopf.dev/create -.metadata.annotations.kopf.dev/x",
		`[{"op":"test","path":"/metadata/finalizers/0"}]`:                         "test /metadata/finalizers/0",
	} {
		var content any
		if err := json.Unmarshal([]byte(body), &content); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(fieldsIn(content, "", 0), " "); got != want {
			t.Errorf("%s: got %q, want %q", body, got, want)
		}
	}
}
