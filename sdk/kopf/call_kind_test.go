package kopf

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Gadget is an API type.
type Gadget struct {
	metav1.TypeMeta
	metav1.ObjectMeta
}

// DeepCopyObject implements [runtime.Object].
func (g *Gadget) DeepCopyObject() runtime.Object { return new(*g) }

func TestKindOf_OnlyOfAPITypes(t *testing.T) {
	type embedding struct {
		Gadget
		Extra string
	}
	type plain struct {
		metav1.TypeMeta
		metav1.ObjectMeta
	}
	for name, test := range map[string]struct{ got, want string }{
		"an API type":             {kindOf[Gadget](), "Gadget"},
		"a type that embeds it":   {kindOf[embedding](), ""},
		"a struct with metadata":  {kindOf[plain](), ""},
		"a struct":                {kindOf[sized](), ""},
		"Object":                  {kindOf[Object](), ""},
		"a map":                   {kindOf[map[string]any](), ""},
		"an unstructured object":  {kindOf[unstructured.Unstructured](), ""},
		"the metadata of any one": {kindOf[metav1.PartialObjectMetadata](), ""},
	} {
		if test.got != test.want {
			t.Errorf("%s: got %q", name, test.got)
		}
	}
}

func TestRegistry_KnowsTheKindsOfHandlers(t *testing.T) {
	var r Registry
	gadgets := Resource("gadgets")
	OnCreate(&r, gadgets, func(context.Context, *Change[Gadget]) error { return nil }, ID("create"))
	OnEvent(&r, gadgets, func(context.Context, *Event[Gadget]) error { return nil }, ID("event"))
	Daemon(&r, gadgets, func(context.Context, *DaemonRun[Gadget]) error { return nil }, ID("daemon"))
	Timer(&r, gadgets, func(context.Context, *TimerTick[Gadget]) error { return nil }, ID("timer"), Interval(1e9))
	NewIndex(&r, gadgets, func(context.Context, *IndexRequest[Gadget]) (map[string]int, error) { return nil, nil }, ID("index"))
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	for _, h := range r.registry.All() {
		if h.ObjectKind != "Gadget" {
			t.Errorf("%s: got %q", h, h.ObjectKind)
		}
	}
}
