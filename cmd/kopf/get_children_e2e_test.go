package main

import (
	"context"
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kopf-dev/kopf/devcluster"
	"github.com/kopf-dev/kopf/listing"
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

// TestE2E_GetChildrenOfOperator has a ready child, a claim without a controller, and a refused child.
func TestE2E_GetChildrenOfOperator(t *testing.T) {
	program, err := devcluster.Prepare(t.Context(), devcluster.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("KOPF_CONTROLPLANE", program)
	cluster := kopftest.New(t)
	cluster.ApplyFile("../../examples/crd.yaml")
	child := func(kind, name string, spec map[string]any) map[string]any {
		o := map[string]any{"apiVersion": "v1", "kind": kind, "metadata": map[string]any{"name": name}}
		if spec != nil {
			o["spec"] = spec
		}
		return o
	}
	op := &inspected{address: "unix:" + filepath.Join(shortDir(t), "i")}
	operator := cluster.Run(func(r *kopf.Registry) {
		kopf.OnReconcile(r, kopf.Resource("kopf.dev/v1", "kopfexamples"), func(ctx context.Context, p *kopf.Pass[kopf.Object]) error {
			disk := child("PersistentVolumeClaim", "disk", map[string]any{
				"accessModes": []any{"ReadWriteOnce"}, "resources": map[string]any{"requests": map[string]any{"storage": "1Mi"}},
			})
			return p.Apply(ctx, &unstructured.Unstructured{Object: child("ConfigMap", "settings", nil)},
				&unstructured.Unstructured{Object: child("ConfigMap", "stranger", nil)}, &unstructured.Unstructured{Object: disk})
		}, kopf.ID("reconcile"), kopf.Own{Resource: kopf.Resource("v1", "configmaps")}, kopf.Own{Resource: kopf.Resource("v1", "persistentvolumeclaims")})
	}, func(o *kopf.Operator) { o.Settings.Process.Inspector = op.address })
	cluster.Create(child("ConfigMap", "stranger", nil))
	cluster.Create(kopfExample("shop", "0"))
	passed := func(wake inspect.WakeKind) func(s *inspect.Snapshot) bool {
		return func(s *inspect.Snapshot) bool {
			return len(s.Objects) == 1 && s.Objects[0].Pass != nil && s.Objects[0].Pass.Wakes[0].Kind == wake
		}
	}
	operator.WaitInspect("the first pass", passed(inspect.WakeObject))

	table, code := getOutput(t, op, "children kex/shop")
	for _, row := range []string{
		`KopfExample/shop +ConfigMap +\S+ +settings +ready\s`, `KopfExample/shop +PersistentVolumeClaim +\S+ +disk +progressing\s`,
		`KopfExample/shop +ConfigMap +\S+ +stranger +refused .*was not made for this object`,
	} {
		if code != 0 || !regexp.MustCompile(row).MatchString(table) {
			t.Errorf("%d, no row matches %s:\n%s", code, row, table)
		}
	}
	text, _ := getOutput(t, op, "kex/shop -o json")
	var objects []listing.Object
	if err := json.Unmarshal([]byte(text), &objects); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if c := objects[0].Children; c.Total != 3 || c.Ready != 1 || len(c.Items) != 3 || c.Items[0].Name != "settings" || c.Items[0].Result != inspect.ResultCreated {
		t.Errorf("%+v", c)
	}

	var printed strings.Builder
	if code := execute(t.Context(), []string{"retry", "kex/shop", "--inspect=" + op.address}, &printed, &printed); code != 0 {
		t.Errorf("%d, %s", code, &printed)
	}
	operator.WaitInspect("another pass", passed(inspect.WakeRequest))
}
