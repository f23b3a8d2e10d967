package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kopf-dev/kopf/sdk/kopftest"
)

// deeds are the values of the fields of the operator in testdata/random.
var deeds = []string{"succeed", "spec", "result", "retry", "give up", "fail", "child", "parts"}

// randomSpec returns a spec for that operator.
func randomSpec(random *rand.Rand) map[string]any {
	spec := map[string]any{"size": []string{"small", "large", "unknown"}[random.IntN(3)]}
	for _, handler := range []string{"first", "second", "update", "resume", "delete"} {
		spec[handler] = deeds[random.IntN(len(deeds))]
	}
	return spec
}

// TestE2E_PlanOfRandomObjectsIsTheTruth plans for objects that are new, handled, changed, deleted, failed, or several of these.
func TestE2E_PlanOfRandomObjectsIsTheTruth(t *testing.T) {
	const known, all, namespace, operator = 200, 300, "default", "./testdata/random"
	random := rand.New(rand.NewPCG(kopftest.Seed(t), 0))
	s := newPlanSource(t).newTruth(operator, namespace)
	t.Setenv("KOPF_CONTROLPLANE", s.program)
	objects := s.client.Resource(kopfExamples).Namespace(namespace)
	create := func(i int) {
		t.Helper()
		o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "kopf.dev/v1", "kind": "KopfExample", "spec": randomSpec(random)}}
		o.SetName(fmt.Sprintf("kex-%d", i))
		if _, err := objects.Create(t.Context(), o, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range known {
		create(i)
	}
	s.run(nil)
	for i := range known {
		name := fmt.Sprintf("kex-%d", i)
		if random.IntN(2) == 0 {
			body, err := json.Marshal(map[string]any{"spec": randomSpec(random)})
			if err == nil {
				_, err = objects.Patch(t.Context(), name, types.MergePatchType, body, metav1.PatchOptions{})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if random.IntN(3) == 0 {
			if err := objects.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i := known; i < all; i++ {
		create(i)
	}
	_, calls := s.check()
	seen := make(map[string]bool)
	for _, ofObject := range calls {
		maps.Copy(seen, ofObject)
	}
	for _, want := range []string{"first succeeds", "second fails", "update succeeds", "resume succeeds", "delete fails", "delete succeeds", "resize/spec.size succeeds", "resize/spec.size fails"} {
		if !seen[want] {
			t.Errorf("the objects are not as different as they should be: %q is not among %q", want, slices.Sorted(maps.Keys(seen)))
		}
	}
}
