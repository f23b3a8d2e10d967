package handlers

import (
	"slices"

	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// Use is a permission that a handler needs for its own API requests.
type Use struct {
	Selector    resources.Selector
	Subresource string // such as "status"; empty for the objects themselves
	Verbs       []string
}

// ApplyVerbs are the permissions that an apply needs.
var ApplyVerbs = []string{"get", "create", "patch"}

// Applies reports whether handlers may apply the objects of the resource.
func (u Use) Applies() bool {
	return u.Subresource == "" && !slices.ContainsFunc(ApplyVerbs, func(verb string) bool { return !slices.Contains(u.Verbs, verb) })
}

// String returns the resource as it was written, with the subresource.
func (u Use) String() string {
	if u.Subresource == "" {
		return u.Selector.String()
	}
	return u.Selector.String() + "/" + u.Subresource
}
