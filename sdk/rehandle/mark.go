package rehandle

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

// Mark marks an object of a copy as [Run] marks the objects of a cluster, for all handlers with versions of the described operators. It
// changes the tree of the object, and returns the marked handlers. It leaves out the handlers whose version has handled the object, or has
// failed on it, and all handlers of paused and deleted objects.
func Mark(operators []inspect.Description, resource schema.GroupResource, tree map[string]any) []Target {
	metadata, ok := tree["metadata"].(map[string]any)
	if !ok {
		return nil
	}
	kind, _ := tree["kind"].(string)
	var marked []Target
	for _, d := range operators {
		for _, h := range d.Handlers {
			of := inspect.APIResource{Group: resource.Group, Plural: resource.Resource, Kind: kind, Verbs: []string{"list"}}
			if h.Version == "" || len(handled(d, []inspect.APIResource{of}, []string{registration(h)})) == 0 {
				continue
			}
			r := &marker{target: Target{Handler: h.ID, Version: h.Version, Prefix: d.Prefix}}
			i := r.read(&resources.Resource{Kind: kind}, metadata)
			if i.status != statusLeft || i.hasMark {
				continue
			}
			added, err := r.versions().Marked(i.markKey, state.Mark{Handler: h.ID, Version: h.Version, UID: i.uid})
			if err != nil {
				panic("the mark is no JSON: " + err.Error()) // impossible, because it has only strings
			}
			annotate(metadata, added)
			marked = append(marked, r.target)
		}
	}
	return marked
}

// annotate adds annotations to the metadata.
func annotate(metadata, added map[string]any) {
	annotations, _ := metadata["annotations"].(map[string]any)
	if annotations == nil {
		annotations = make(map[string]any)
		metadata["annotations"] = annotations
	}
	for name, value := range added {
		annotations[name] = value
	}
}

// HasMark reports whether an object has the mark for the handler of the target.
func (t *Target) HasMark(tree map[string]any) bool {
	v := state.Versions{Prefix: t.Prefix}
	return slices.ContainsFunc(v.Marks(tree), func(m state.Mark) bool { return m.Handler == t.Handler && m.Version == t.Version })
}
