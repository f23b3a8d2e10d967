package handlers

import "github.com/kopf-dev/kopf/sdk/internal/resources"

// Use is a permission that a handler needs for its own API requests.
type Use struct {
	Selector    resources.Selector
	Subresource string // such as "status"; empty for the objects themselves
	Verbs       []string
}

// String returns the resource as it was written, with the subresource.
func (u Use) String() string {
	if u.Subresource == "" {
		return u.Selector.String()
	}
	return u.Selector.String() + "/" + u.Subresource
}
