package engine

import (
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/admission"
	"github.com/kopf-dev/kopf/sdk/internal/engine/reviews"
	"github.com/kopf-dev/kopf/sdk/internal/engine/serving"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// ofDiscovery adds the permissions to watch for new resources and namespaces.
func (p *permissions) ofDiscovery() {
	clusterWide := p.namespaces.ClusterWide()
	if !clusterWide && p.namespaces.AllNamed() {
		return
	}
	if !p.settings.ScanningDisabled && serving.ServesCustomResources(p.registry) {
		p.grant(nil, "the operator itself: to serve resources that are defined while it runs", inspect.ScopeCluster,
			"apiextensions.k8s.io", "customresourcedefinitions", "list", "watch")
	}
	if clusterWide {
		return
	}
	verbs := []string{"list", "watch"}
	if p.settings.ScanningDisabled {
		verbs = verbs[:1]
	}
	p.grant(nil, "the operator itself: to serve the namespaces that match its patterns", inspect.ScopeCluster, "", "namespaces", verbs...)
}

// ofPeering adds the permissions for peering, if the cluster has the resource of peering objects, or peering is
// mandatory. It returns the name of the objects.
func (p *permissions) ofPeering() string {
	settings := &p.settings.Peering
	if !settings.TakesPart() {
		return ""
	}
	namespaced := !settings.ClusterWide && !p.namespaces.ClusterWide()
	found := resources.Peerings(p.known, namespaced)
	if len(found) == 0 && settings.Mandatory {
		res := &resources.Resource{Group: "kopf.dev", Plural: resources.ClusterPeerings}
		if namespaced {
			res.Plural = resources.NamespacedPeerings
		}
		found = append(found, res)
	}
	for _, res := range found {
		written := res.Plural
		if res.HasSubresource("status") {
			written += "/status"
		}
		p.grant(nil, "the operator itself: to pause while an operator of a higher priority acts", p.scope(namespaced), res.Group, res.Plural, "list", "watch")
		p.add(nil, inspect.Permission{
			Group: res.Group, Resource: written, Names: []string{settings.Name}, Verbs: []string{"patch"}, Scope: p.scope(namespaced),
			Purpose: "the operator itself: to tell other operators that it is there",
		})
	}
	return settings.Name
}

// ofReplicas adds the permissions for the leases of the operator's replicas. It returns the leases.
func (p *permissions) ofReplicas() inspect.Leases {
	count := p.settings.Selection.Division.Shards
	if count == 0 && !p.settings.LeaderElection {
		return inspect.Leases{}
	}
	lease := &p.settings.Lease
	add := func(purpose string, names []string, verbs ...string) {
		permission := inspect.Permission{
			Group: "coordination.k8s.io", Resource: "leases", Names: names, Verbs: verbs, Scope: inspect.ScopeOwn, Purpose: purpose,
		}
		if lease.Namespace != "" {
			permission.Scope, permission.Namespace = inspect.ScopeNamed, lease.Namespace
		}
		p.add(nil, permission)
	}
	if count > 0 {
		add("the operator itself: to divide the objects among its replicas", nil, "list", "create", "update", "delete")
	} else {
		// RBAC cannot restrict the names of created objects.
		add("the operator itself: to begin the election of the replica that acts", nil, "create")
		add("the operator itself: to elect the replica that acts", []string{lease.Name}, "get", "update")
	}
	return inspect.Leases{Name: lease.Name, Namespace: lease.Namespace, Shards: count}
}

// ofWebhooks adds the permissions for webhook configurations. It returns the name of the configurations; empty if there
// are none.
func (p *permissions) ofWebhooks() string {
	settings := &p.settings.Admission
	if settings.Managed == "" || len(p.registry.Admission()) == 0 {
		return ""
	}
	name := admission.ConfigurationName(settings.Managed, settings.Session)
	for _, c := range reviews.Configurations(p.registry.Admission()) {
		for _, h := range c.Handlers {
			purpose := "the configuration of the webhooks, which is created once"
			p.grant(h, purpose, inspect.ScopeCluster, c.Resource.Group, c.Resource.Plural, "create")
			p.add(h, inspect.Permission{
				Group: c.Resource.Group, Resource: c.Resource.Plural, Names: []string{name}, Verbs: []string{"patch"}, Scope: inspect.ScopeCluster,
				Purpose: "webhooks, in their configuration",
			})
		}
	}
	return name
}
