package resources

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Resource is a resource in one version, as the API server's discovery describes it.
type Resource struct {
	Group    string // empty for the core API
	Version  string
	Plural   string // the name in URLs
	Kind     string
	Singular string

	Shortcuts    []string // short names, such as "po"
	Categories   []string // such as "all"
	Subresources []string // such as "status"
	Verbs        []string // verbs that the API offers, permitted or not

	Namespaced bool
	Preferred  bool // is the preferred version of its group
}

// Key returns the identity of the resource, e.g. "kopfexamples.v1.kopf.dev" or "pods.v1".
func (r *Resource) Key() string {
	if r.Group == "" {
		return r.Plural + "." + r.Version
	}
	return r.Plural + "." + r.Version + "." + r.Group
}

// String returns [Resource.Key].
func (r *Resource) String() string { return r.Key() }

// GVR returns the identity of the resource as a comparable value.
func (r *Resource) GVR() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: r.Group, Version: r.Version, Resource: r.Plural}
}

// APIVersion returns the apiVersion of the resource's objects.
func (r *Resource) APIVersion() string {
	if r.Group == "" {
		return r.Version
	}
	return r.Group + "/" + r.Version
}

// HasSubresource reports whether the resource has a subresource, e.g. "status".
func (r *Resource) HasSubresource(name string) bool { return slices.Contains(r.Subresources, name) }

// builtInGroups are the groups with dots that Kubernetes serves itself. Those without dots are all its own,
// because the group of a custom resource definition must have one.
var builtInGroups = []string{
	"admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "authentication.k8s.io",
	"authorization.k8s.io", "certificates.k8s.io", "coordination.k8s.io", "discovery.k8s.io", "events.k8s.io",
	"flowcontrol.apiserver.k8s.io", "internal.apiserver.k8s.io", "networking.k8s.io", "node.k8s.io",
	"rbac.authorization.k8s.io", "resource.k8s.io", "scheduling.k8s.io", "storage.k8s.io", "storagemigration.k8s.io",
}

// BuiltIn reports whether Kubernetes defines the resource itself, without a custom resource definition.
func (r *Resource) BuiltIn() bool {
	return !strings.Contains(r.Group, ".") || slices.Contains(builtInGroups, r.Group)
}

// watchable reports whether the objects can be listed and watched.
func (r *Resource) watchable() bool {
	return slices.Contains(r.Verbs, "list") && slices.Contains(r.Verbs, "watch")
}

// patchable reports whether the objects can be patched.
func (r *Resource) patchable() bool { return slices.Contains(r.Verbs, "patch") || r.terminating() }

// terminating reports whether the definition of the resource is being deleted. The API server offers no verbs of
// writing then, but accepts patches until the last object is deleted, so that operators can remove their finalizers.
func (r *Resource) terminating() bool {
	offers := func(verb string) bool { return slices.Contains(r.Verbs, verb) }
	return offers("delete") && offers("deletecollection") && !offers("create") && !offers("update")
}

// isEvent reports whether the objects are Kubernetes events, which two groups serve.
func (r *Resource) isEvent() bool {
	return r.Plural == "events" && (r.Group == "" || r.Group == "events.k8s.io")
}
