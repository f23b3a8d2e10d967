package kopftest

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

func TestSettledText_ReplacesWhatDiffersFromRunToRun(t *testing.T) {
	const uid = "0a1b2c3d-0000-1111-2222-333344445555"
	object := func(uid, version, at, namespace string) map[string]any {
		return map[string]any{
			"kind": "Widget",
			"metadata": map[string]any{
				"name": "one", "namespace": namespace, "uid": uid, "resourceVersion": version, "generation": 3, "creationTimestamp": at,
				"annotations": map[string]any{"last": `{"at":"` + at + `","in":"` + namespace + `"}`},
			},
			"status": map[string]any{"parent": uid, "child": "1" + uid[1:], "since": at},
		}
	}
	got, err := settledText([]map[string]any{object(uid, "7", "2026-01-02T03:04:05Z", "test-a"), {"kind": "Other", "of": uid}}, "test-a")
	if err != nil {
		t.Fatal(err)
	}
	const want = `kind: Widget
metadata:
  annotations:
    last: '{"at":"TIME","in":"NAMESPACE"}'
  name: one
  namespace: NAMESPACE
status:
  child: UID-1
  parent: UID-2
  since: TIME
---
kind: Other
of: UID-2
`
	if got != want {
		t.Errorf("got\n%s", lineDiff(want, got))
	}
	again, err := settledText([]map[string]any{
		object("f"+uid[1:], "9", "2027-01-02T03:04:05.678+02:00", "test-b"), {"kind": "Other", "of": "f" + uid[1:]},
	}, "test-b")
	if err != nil || again != want {
		t.Errorf("of another run: %v\n%s", err, lineDiff(want, again))
	}
}

func TestLineDiff_MarksLinesOfOneText(t *testing.T) {
	if got, want := lineDiff("a\nb\nc\n", "a\nc\nd\n"), "  a\n- b\n  c\n+ d"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestApplyAll_ReturnsObjectsInTheirOrder(t *testing.T) {
	t.Parallel()
	cluster := New(t)
	objects := cluster.ApplyAll(widget + "---" + widgetsCRD + "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: two}}")
	if len(objects) != 3 || objects[0].Name != "one" || objects[1].Kind != "CustomResourceDefinition" || objects[2].Name != "two" {
		t.Errorf("got %v", objects)
	}
}

func TestGolden_ComparesHandledObjects(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	crd, objects := file("crd.yaml", widgetsCRD), file("obj.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: two}}\n---"+widget)
	golden := filepath.Join(dir, "testdata", "golden.yaml")
	doubling := func(factor int) func(r *kopf.Registry) {
		return func(r *kopf.Registry) {
			kopf.OnCreate(r, widgets, func(_ context.Context, c *request) error {
				c.Patch.Set("status.doubled", factor*kopf.GetOr(c.Object, "spec.size", 0))
				c.Patch.Set("status.uid", c.UID)
				return nil
			}, kopf.ID("create"))
		}
	}
	wantAll(t, failureOf(t, func(d testing.TB) { Golden(d, doubling(2), golden, crd, objects) }), "there is no golden file", updateVar, "doubled: 2")
	t.Run("updates", func(t *testing.T) {
		t.Setenv(updateVar, "1")
		Golden(t, doubling(2), golden, crd, objects)
	})
	text, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	wantAll(t, string(text), "namespace: NAMESPACE", "uid: UID-1", "kopf.zalando.org/last-handled-configuration")
	Golden(t, doubling(2), golden, crd, objects)
	wantAll(t, failureOf(t, func(d testing.TB) { Golden(d, doubling(3), golden, crd, objects) }), "-   doubled: 2", "+   doubled: 3")
	wantAll(t, failureOf(t, func(d testing.TB) { Golden(d, doubling(3), golden, crd) }), "no object in")
}
