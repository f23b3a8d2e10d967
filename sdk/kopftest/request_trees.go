package kopftest

import (
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

// treeOf decodes a user's object: YAML, or a value that encodes as JSON.
func treeOf(t testing.TB, object any) map[string]any {
	t.Helper()
	raw, err := []byte(nil), error(nil)
	switch object := object.(type) {
	case string:
		raw, err = yaml.YAMLToJSONStrict([]byte(object))
	case []byte:
		raw, err = yaml.YAMLToJSONStrict(object)
	default:
		raw, err = json.Marshal(object)
	}
	view := new(kopf.Object)
	if err == nil {
		err = view.UnmarshalJSON(raw)
	}
	if err != nil {
		t.Fatalf("kopftest: an object of a %T: %v", object, err)
	}
	tree, _ := view.Get("").(map[string]any)
	return tree
}

func viewOf(t testing.TB, tree map[string]any) *kopf.Object {
	t.Helper()
	if tree == nil {
		tree = map[string]any{}
	}
	view, err := kopf.ObjectOf(tree)
	if err != nil {
		t.Fatalf("kopftest: %v", err)
	}
	return view
}

func decoded[T any](t testing.TB, body *kopf.Object) *T {
	t.Helper()
	if view, ok := any(body).(*T); ok {
		return view
	}
	v := new(T)
	if err := body.Decode("", v); err != nil {
		t.Fatalf("kopftest: %v", err)
	}
	return v
}

func decodeField(t testing.TB, tree map[string]any, field kopf.Path, into any) {
	t.Helper()
	if tree == nil {
		return
	}
	if err := viewOf(t, tree).Decode(field, into); err != nil {
		t.Fatalf("kopftest: %v", err)
	}
}

// wireOf converts a tree to an object as the API server sends it.
func wireOf(t testing.TB, tree map[string]any) *object.Object {
	t.Helper()
	object, err := encode(tree)
	if err != nil {
		t.Fatalf("kopftest: %v", err)
	}
	return object
}

func encode(tree map[string]any) (*object.Object, error) {
	if tree == nil {
		tree = map[string]any{}
	}
	raw, err := json.Marshal(tree)
	if err != nil {
		return nil, err
	}
	return object.Parse(raw, object.ParseOptions{})
}

// resourceOfObject derives the resource of an object from its apiVersion and kind. Without a cluster, the plural name is a
// guess.
func resourceOfObject(body *kopf.Object) resources.Resource {
	kind := kopf.GetOr(body, "kind", "")
	if kind == "" {
		return resources.Resource{}
	}
	version := schema.FromAPIVersionAndKind(kopf.GetOr(body, "apiVersion", "v1"), kind)
	plural, singular := meta.UnsafeGuessKindToResource(version)
	return resources.Resource{
		Group: version.Group, Version: version.Version, Kind: kind, Plural: plural.Resource, Singular: singular.Resource,
		Namespaced: body.Get("metadata.namespace") != nil,
		Preferred:  true,
	}
}
