package object

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
)

func TestObject_ReflectorSeesIdentityAndVersion(t *testing.T) {
	o := parse(t, pod, ParseOptions{})
	m, err := meta.Accessor(o)
	if err != nil || m.GetName() != "web-0" || m.GetNamespace() != "shop" || m.GetResourceVersion() != "41" {
		t.Error(m, err)
	}
	items, err := meta.ExtractListWithAlloc(&List{Items: []*Object{o}})
	if err != nil || len(items) != 1 || items[0] != o.DeepCopyObject() {
		t.Error(items, err)
	}
	if kind := o.GetObjectKind().GroupVersionKind().Kind; kind != "Pod" {
		t.Error(kind)
	}
}
