package reconcile

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

func TestCouldBe_NamesOfUnservedKinds(t *testing.T) {
	parts := resources.Selector{Group: "example.com", Version: "v1", Name: "parts"}
	for name, c := range map[string]struct {
		selector resources.Selector
		stated   schema.GroupVersionKind
		want     bool
	}{
		"a struct":               {parts, schema.GroupVersionKind{Kind: "Part"}, true},
		"another struct":         {parts, schema.GroupVersionKind{Kind: "ConfigMap"}, false},
		"with its version":       {parts, schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Part"}, true},
		"another version":        {parts, schema.GroupVersionKind{Group: "example.com", Version: "v2", Kind: "Part"}, false},
		"another group":          {parts, schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Part"}, false},
		"an irregular plural":    {resources.Selector{Kind: "Chassis"}, schema.GroupVersionKind{Kind: "Chassis"}, true},
		"selected by singular":   {resources.Selector{Singular: "policy"}, schema.GroupVersionKind{Kind: "Policy"}, true},
		"selected by its plural": {resources.Selector{Plural: "policies"}, schema.GroupVersionKind{Kind: "Policy"}, true},
	} {
		k := &kind{owned: &handlers.Owned{Selector: c.selector}}
		if got := couldBe(k, c.stated); got != c.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}
