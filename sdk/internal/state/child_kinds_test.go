package state

import (
	"slices"
	"testing"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
)

func TestChildKinds_AreStoredIfTheyDiffer(t *testing.T) {
	s := ChildKinds{Prefix: "shops.example.com"}
	key := "shops.example.com/child-kinds"
	for name, test := range map[string]struct {
		recorded any
		kinds    []string
		want     map[string]any // annotations of the patch
	}{
		"none":     {nil, nil, nil},
		"first":    {nil, []string{"deployments.apps", "services"}, map[string]any{key: "deployments.apps,services", "shops.example.com/kopf-managed": "yes"}},
		"same":     {"deployments.apps,services", []string{"deployments.apps", "services"}, nil},
		"fewer":    {"deployments.apps,services", []string{"services"}, map[string]any{key: "services", "shops.example.com/kopf-managed": "yes"}},
		"none now": {"services", nil, map[string]any{key: nil}},
		"broken":   {1, []string{"services"}, map[string]any{key: "services", "shops.example.com/kopf-managed": "yes"}},
	} {
		obj := map[string]any{"metadata": map[string]any{"annotations": map[string]any{}}}
		if test.recorded != nil {
			object.Annotations(obj)[key] = test.recorded
		}
		p := patch.NewPatch()
		s.Store(obj, test.kinds, p)
		got := object.Annotations(p.Tree())
		if len(got) != len(test.want) {
			t.Errorf("%s: the patch is %v, want %v", name, p.Tree(), test.want)
		}
		for key, value := range test.want {
			if got[key] != value {
				t.Errorf("%s: the patch is %v, want %v", name, p.Tree(), test.want)
			}
		}
		if after := s.Read(patch.Merged(obj, p.Tree())); !slices.Equal(after, test.kinds) {
			t.Errorf("%s: read %v", name, after)
		}
	}
}

func TestChildKinds_AreNoPartOfTheEssence(t *testing.T) {
	s := ChildKinds{Prefix: "example.com"}
	essence := map[string]any{"metadata": map[string]any{"annotations": map[string]any{"example.com/child-kinds": "services", "example.com/a": "1"}}}
	got := object.Annotations(s.Clear(essence))
	if len(got) != 1 || got["example.com/a"] != "1" {
		t.Errorf("got %v", got)
	}
	if len(object.Annotations(essence)) != 2 {
		t.Error("the essence itself was changed")
	}
}
