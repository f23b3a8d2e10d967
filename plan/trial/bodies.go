package trial

import (
	"encoding/json"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kopf-dev/kopf/plan/copy"
	"github.com/kopf-dev/kopf/plan/proxy"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// bodyKey identifies an object of a copy. It has no UID, because some questions change the UIDs.
type bodyKey struct{ resource, namespace, name string }

func keyOf(r schema.GroupVersionResource, namespace, name string) bodyKey {
	key := r.Resource + "." + r.Version
	if r.Group != "" {
		key += "." + r.Group
	}
	return bodyKey{key, namespace, name}
}

// bodies returns the function for [Result].Body. Manifests of [Options].Prepare were applied before the operator started, so the requests
// for them have newer states than the copy.
func bodies(c *copy.Copy, requests []proxy.Request, started time.Time) func(*inspect.Object) map[string]any {
	prepared := make(map[bodyKey]map[string]any)
	for _, r := range requests {
		if r.At.Before(started) {
			prepared[keyOf(r.Resource, r.Namespace, r.Name)] = r.After
		}
	}
	copied := make(map[bodyKey]json.RawMessage)
	for o, resource := range c.Objects() {
		copied[keyOf(resource, o.Namespace, o.Name)] = o.JSON
	}
	return func(o *inspect.Object) map[string]any {
		key := bodyKey{o.Resource, o.Namespace, o.Name}
		if tree, known := prepared[key]; known {
			return tree
		}
		var tree map[string]any
		if text := copied[key]; text == nil || json.Unmarshal(text, &tree) != nil {
			return nil
		}
		return tree
	}
}
