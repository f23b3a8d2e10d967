package redact

import (
	"strings"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// managedFields is where the API server keeps who set which field. It names the items of lists by their values,
// as "v:VALUE" or "k:KEYS", also in the terms of other API versions, whose fields may have other names.
var managedFields = object.Path{"metadata", "managedFields"}

// withoutItems returns a copy of managed fields that names fields ("f:NAME") but no items of lists, nor what is in
// them: one mark is shown in place of all items of a list. It is given the list of managers or a part of it.
func withoutItems(value any) any {
	switch v := value.(type) {
	case []any:
		out := make([]any, len(v))
		for i, manager := range v {
			out[i] = withoutItems(manager)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, child := range v {
			if strings.Contains(key, ":") && !strings.HasPrefix(key, "f:") {
				out[Mark] = map[string]any{}
			} else {
				out[key] = withoutItems(child)
			}
		}
		return out
	}
	return value
}
