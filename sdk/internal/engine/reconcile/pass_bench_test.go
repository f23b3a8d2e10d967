package reconcile

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kopf-dev/kopf/sdk/internal/children"
	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// keptPolicy is a pass of a parent with a child that is as it is desired, and the text of the child's events.
type keptPolicy struct {
	pass    *Pass
	kind    *kind
	desired *unstructured.Unstructured
	text    string // event, in which VERSION stands for the resourceVersion
}

func newKeptPolicy(tb testing.TB) *keptPolicy {
	tb.Helper()
	policies := resources.Resource{Group: "networking.k8s.io", Version: "v1", Plural: "networkpolicies", Kind: "NetworkPolicy", Namespaced: true, Preferred: true}
	parents := &resources.Resource{Group: "kopf.dev", Version: "v1", Plural: "kopfexamples", Kind: "KopfExample", Namespaced: true, Preferred: true}
	d := &core.Deps{Now: time.Now, Logger: slog.New(slog.DiscardHandler)}
	f := newFamily(&Reconciler{deps: d, prefix: children.DefaultPrefix}, parents, &handlers.Handler{
		Owns: []handlers.Owned{{Selector: resources.Selector{Group: "networking.k8s.io", Version: "v1", Plural: "networkpolicies"}}},
	})
	f.resolve([]resources.Resource{policies})
	owner, err := object.Parse([]byte(`{"apiVersion":"kopf.dev/v1","kind":"KopfExample","metadata":{"name":"shop","namespace":"ns","uid":"parent"}}`), object.ParseOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	parent := f.parentOf(owner.UID)
	parent.object = owner
	k := &keptPolicy{
		pass: &Pass{family: f, parent: parent, ctx: tb.Context(), owner: owner, subject: &observe.Subject{Logger: d.Logger}}, kind: f.kinds[0],
		desired: &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy",
			"spec": map[string]any{"podSelector": map[string]any{"matchLabels": map[string]any{"app": "shop"}}, "policyTypes": []any{"Ingress"}},
		}},
	}
	child, err := k.pass.desire(k.desired)
	if err != nil {
		tb.Fatal(err)
	}
	tree, err := object.AppendJSON(nil, child.tree, nil)
	if err != nil {
		tb.Fatal(err)
	}
	entry := func(manager, operation, fields string) string {
		return fmt.Sprintf(`{"manager":%q,"operation":%q,"apiVersion":"networking.k8s.io/v1","time":"2026-11-26T12:00:00Z","fieldsType":"FieldsV1","fieldsV1":%s}`, manager, operation, fields)
	}
	applied := entry(f.manager, "Apply", `{"f:metadata":{"f:annotations":{"f:kopf.zalando.org/applied":{}},"f:labels":{"f:kopf.dev/owned-by":{},"f:kopf.dev/owner-uid":{}},`+
		`"f:ownerReferences":{"k:{\"uid\":\"parent\"}":{}}},"f:spec":{"f:podSelector":{},"f:policyTypes":{}}}`)
	others := entry("others", "Update", `{"f:metadata":{"f:annotations":{"f:example.com/heartbeat":{}}}}`)
	k.text = `{"type":"MODIFIED","object":` + strings.Replace(string(tree), `"annotations":{`,
		`"uid":"child","resourceVersion":"VERSION","generation":1,"managedFields":[`+applied+`,`+others+`],"annotations":{"example.com/heartbeat":"VERSION",`, 1) + `}`
	k.event(tb, 1)
	if err := k.pass.keep(tb.Context(), child); err != nil {
		tb.Fatal(err)
	}
	return k
}

// event delivers a version of the child that differs from the last one by the annotation of others only. The first one belongs to
// a list.
func (k *keptPolicy) event(tb testing.TB, version int) {
	frame, err := object.ParseFrame([]byte(strings.ReplaceAll(k.text, "VERSION", strconv.Itoa(version))), object.ParseOptions{KeepManagedFields: true})
	if err != nil {
		tb.Fatal(err)
	}
	k.kind.observe(context.Background(), watch.Event{Type: frame.Type, Object: frame.Object}, version == 1)
}

// BenchmarkUnchangedChild is one child in a pass that changes nothing: its text is made and compared.
func BenchmarkUnchangedChild(b *testing.B) {
	k := newKeptPolicy(b)
	b.ReportAllocs()
	for b.Loop() {
		if err := k.pass.applyAll(context.Background(), []any{k.desired}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkIrrelevantEvent is an event of a child without a consequence, from the line of the stream on.
func BenchmarkIrrelevantEvent(b *testing.B) {
	k := newKeptPolicy(b)
	version := 1
	b.ReportAllocs()
	for b.Loop() {
		version++
		k.event(b, version)
	}
	if len(k.pass.parent.wakes) > 0 {
		b.Fatal(k.pass.parent.wakes)
	}
}

func TestPass_NeitherWritesNorWakesForOthersAnnotations(t *testing.T) {
	k := newKeptPolicy(t) // its client is nil, so that a request would panic
	for version := 2; version < 5; version++ {
		k.event(t, version)
		if err := k.pass.applyAll(t.Context(), []any{k.desired}); err != nil || len(k.pass.parent.wakes) > 0 {
			t.Fatal(k.pass.parent.wakes, err)
		}
	}
	if c := k.kind.children[childName{"ns", "shop"}]; c.ResourceVersion != "4" {
		t.Error(c)
	}
}
