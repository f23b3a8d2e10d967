package watched

import (
	"fmt"
	"testing"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

func TestNames_ReadsTheFieldsOfTheParent(t *testing.T) {
	const spec = `{"spec":{"secret":"cert","more":["b","a","b",7,null],"number":7,"empty":"","far":"other/cert","bad":"/x",
		"configs":[{"name":"one"},{"name":"two"},{}],"byRole":{"x":{"name":"three"}}}}`
	for field, want := range map[string]string{
		"spec.secret":          "[ns/cert]",
		"spec.more":            "[ns/a ns/b]",
		"spec.more[0]":         "[ns/b]",
		"spec.more[*]":         "[ns/a ns/b]",
		"spec.number":          "[]",
		"spec.empty":           "[]",
		"spec.absent.field":    "[]",
		"spec.far":             "[other/cert]",
		"spec.bad":             "[]",
		"spec.configs[*].name": "[ns/one ns/two]",
		"spec.configs":         "[]",
		"spec.byRole[*].name":  "[ns/three]",
		"spec.byRole":          "[]",
	} {
		path, err := object.ParsePath(field)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Names(&object.Object{Raw: []byte(spec), Namespace: "ns"}, []object.Path{path}, true)
		if fmt.Sprint(got) != want || err != nil {
			t.Errorf("%s: %v, %v; want %s", field, got, err, want)
		}
	}
}

func TestNames_OfOtherScopes(t *testing.T) {
	const spec = `{"spec":{"near":"x","far":"ns/x"}}`
	fields := []object.Path{{"spec", "near"}, {"spec", "far"}}
	for name, test := range map[string]struct {
		parent     string // namespace
		namespaced bool
		want       string
	}{
		"cluster-scoped parent of namespaced objects":     {"", true, "[ns/x]"},
		"cluster-scoped parent of cluster-scoped objects": {"", false, "[/ns/x /x]"},
		"namespaced parent of cluster-scoped objects":     {"team", false, "[/ns/x /x]"},
		"namespaced parent of namespaced objects":         {"team", true, "[ns/x team/x]"},
	} {
		got, err := Names(&object.Object{Raw: []byte(spec), Namespace: test.parent}, fields, test.namespaced)
		if fmt.Sprint(got) != test.want || err != nil {
			t.Errorf("%s: %v, %v; want %s", name, got, err, test.want)
		}
	}
}
