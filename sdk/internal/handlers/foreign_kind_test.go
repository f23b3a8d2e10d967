package handlers

import (
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

func TestForeignKinds_OnlyIfCertain(t *testing.T) {
	pods := resources.Resource{Version: "v1", Kind: "Pod", Plural: "pods", Preferred: true, Categories: []string{"all"}}
	nodes := resources.Resource{Version: "v1", Kind: "Node", Plural: "nodes", Preferred: true}
	cluster := []resources.Resource{pods, nodes}
	for name, tt := range map[string]struct {
		kind     string
		selector resources.Selector
		want     bool
	}{
		"another kind of the cluster": {"Node", resources.Selector{Plural: "pods"}, true},
		"the kind":                    {"Pod", resources.Selector{Plural: "pods"}, false},
		"no API type":                 {"", resources.Selector{Plural: "pods"}, false},
		"a name of no kind":           {"PodLike", resources.Selector{Plural: "pods"}, false},
		"a handler of others":         {"Pod", resources.Selector{Plural: "nodes"}, false},
		"a category":                  {"Node", resources.Selector{Category: "all"}, false},
		"everything":                  {"Node", resources.Selector{Name: "*"}, false},
	} {
		var r Registry
		r.Add(&Handler{ID: "create", Family: Create, Selector: tt.selector, ObjectKind: tt.kind, Source: "/op/handlers/a.go:7"})
		warnings := r.ForeignKinds(&pods, cluster)
		if (len(warnings) > 0) != tt.want {
			t.Errorf("%s: got %q", name, warnings)
		}
		const want = "Handler 'create' (handlers/a.go:7) is for pods.v1, but its Go type belongs to another kind, Node; register it for nodes.v1, or change the type"
		if tt.want && strings.Join(warnings, "\n") != want {
			t.Errorf("%s: got %q", name, warnings)
		}
	}
}
