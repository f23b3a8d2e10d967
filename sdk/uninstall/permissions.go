package uninstall

import (
	"slices"
	"strings"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// Permissions returns the permissions that [Run] needs to remove an operator. If the name of a Deployment is not
// empty, they include stopping it.
func Permissions(d inspect.Description, deployment string) []inspect.Permission {
	var all []inspect.Permission
	add := func(p inspect.Permission, verbs ...string) {
		p.Verbs = verbs
		all = append(all, p)
	}
	if deployment != "" {
		const purpose = "to stop the operator, and to wait until its pods have ended"
		add(inspect.Permission{Group: "apps", Resource: "deployments/scale", Names: []string{deployment}, Scope: inspect.ScopeOwn, Purpose: purpose}, "get", "patch")
		add(inspect.Permission{Group: "apps", Resource: "deployments", Names: []string{deployment}, Scope: inspect.ScopeOwn, Purpose: purpose}, "get")
		add(inspect.Permission{Group: "apps", Resource: "replicasets", Scope: inspect.ScopeOwn, Purpose: purpose}, "list")
		add(inspect.Permission{Resource: "pods", Scope: inspect.ScopeOwn, Purpose: purpose}, "list")
	}
	if d.Webhooks != "" {
		for _, res := range webhookResources {
			add(inspect.Permission{
				Group: res.Group, Resource: res.Plural, Names: []string{d.Webhooks}, Scope: inspect.ScopeCluster,
				Purpose: "to remove the configuration of the webhooks",
			}, "get", "delete")
		}
	}
	for _, p := range d.Permissions {
		switch {
		case marks(p):
			p.Purpose = "to find the handlers' objects with the finalizer, and to remove it"
			add(p, "list", "patch")
		case isPeering(p) && slices.Contains(p.Verbs, "patch"):
			p.Handlers, p.Purpose = nil, "to remove the operator's records in the peering"
			addRecords(add, p)
		}
	}
	addLeases(add, d.Leases)
	return all
}

// isPeering reports whether a permission is for peering objects.
func isPeering(p inspect.Permission) bool {
	return strings.HasPrefix(p.Resource, "kopfpeerings") || strings.HasPrefix(p.Resource, "clusterkopfpeerings")
}

// addRecords adds the permission to read the peering objects that the operator may patch.
func addRecords(add func(inspect.Permission, ...string), p inspect.Permission) {
	object := p
	plural, status, _ := strings.Cut(p.Resource, "/")
	object.Resource = plural
	switch {
	case p.Scope == inspect.ScopeCluster && plural == "kopfpeerings": // of namespaces that match patterns
		object.Names = nil
		add(object, "list")
		add(p, "patch")
	case status != "":
		add(object, "get")
		add(p, "patch")
	default:
		add(p, "get", "patch")
	}
}

// addLeases adds the permissions to remove the leases of replicas.
func addLeases(add func(inspect.Permission, ...string), leases inspect.Leases) {
	if leases.Name == "" {
		return
	}
	p := inspect.Permission{Group: leaseResource.Group, Resource: leaseResource.Plural, Scope: inspect.ScopeOwn, Purpose: "to remove the leases of the replicas"}
	if leases.Namespace != "" {
		p.Scope, p.Namespace = inspect.ScopeNamed, leases.Namespace
	}
	if leases.Shards > 0 {
		add(p, "list", "delete")
		return
	}
	p.Names, p.Purpose = []string{leases.Name}, "to remove the lease of the replicas"
	add(p, "get", "delete")
}
