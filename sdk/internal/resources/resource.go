package resources

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Resource is one kind of resource in one version, as the cluster's discovery tells it.
type Resource struct {
	Group    string // empty for the core API
	Version  string
	Plural   string // the name in paths
	Kind     string
	Singular string

	Shortcuts    []string // short names, such as "po"
	Categories   []string // such as "all"
	Subresources []string // such as "status"
	Verbs        []string // what the API offers, whether or not it is permitted

	Namespaced bool
	Preferred  bool // of the version that its group prefers
}

// Key is the identity of a resource in words: "kopfexamples.v1.kopf.dev", "pods.v1".
func (r *Resource) Key() string {
	if r.Group == "" {
		return r.Plural + "." + r.Version
	}
	return r.Plural + "." + r.Version + "." + r.Group
}

// String is [Resource.Key].
func (r *Resource) String() string { return r.Key() }

// GVR is the identity of a resource as a comparable value.
func (r *Resource) GVR() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: r.Group, Version: r.Version, Resource: r.Plural}
}

// APIVersion is what objects of the resource have in their apiVersion field.
func (r *Resource) APIVersion() string {
	if r.Group == "" {
		return r.Version
	}
	return r.Group + "/" + r.Version
}

// HasSubresource tells whether the resource has a subresource of that name.
func (r *Resource) HasSubresource(name string) bool { return slices.Contains(r.Subresources, name) }

// Watchable tells whether the objects can be listed and watched.
func (r *Resource) Watchable() bool {
	return slices.Contains(r.Verbs, "list") && slices.Contains(r.Verbs, "watch")
}

// Patchable tells whether the objects can be patched.
func (r *Resource) Patchable() bool { return slices.Contains(r.Verbs, "patch") }

// isEvent tells whether the objects are Kubernetes events, in either of the two groups
// that show the same objects.
func (r *Resource) isEvent() bool {
	return r.Plural == "events" && (r.Group == "" || r.Group == "events.k8s.io")
}
