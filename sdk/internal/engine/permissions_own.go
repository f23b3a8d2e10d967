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
		p.add(inspect.Permission{
			Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions", Verbs: []string{"list", "watch"}, Scope: inspect.ScopeCluster,
			Purpose: "the operator itself: to serve resources that are defined while it runs",
		}, nil)
	}
	if clusterWide {
		return
	}
	verbs := []string{"list", "watch"}
	if p.settings.ScanningDisabled {
		verbs = verbs[:1]
	}
	p.add(inspect.Permission{
		Resource: "namespaces", Verbs: verbs, Scope: inspect.ScopeCluster,
		Purpose: "the operator itself: to serve the namespaces that match its patterns",
	}, nil)
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
		p.ofPeeringObjects(res, p.scope(namespaced))
	}
	return settings.Name
}

func (p *permissions) ofPeeringObjects(res *resources.Resource, scope inspect.PermissionScope) {
	p.add(inspect.Permission{
		Group: res.Group, Resource: res.Plural, Verbs: []string{"list", "watch"}, Scope: scope,
		Purpose: "the operator itself: to pause while an operator of a higher priority acts",
	}, nil)
	written := res.Plural
	if res.HasSubresource("status") {
		written += "/status"
	}
	p.add(inspect.Permission{
		Group: res.Group, Resource: written, Names: []string{p.settings.Peering.Name}, Verbs: []string{"patch"}, Scope: scope,
		Purpose: "the operator itself: to tell other operators that it is there",
	}, nil)
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
		p.add(permission, nil)
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
	if settings.Managed == "" {
		return ""
	}
	name := admission.ConfigurationName(settings.Managed, settings.Session)
	if len(p.registry.Admission()) == 0 {
		return ""
	}
	for _, c := range reviews.Configurations(p.registry.Admission()) {
		for _, h := range c.Handlers {
			p.add(inspect.Permission{
				Group: c.Resource.Group, Resource: c.Resource.Plural, Verbs: []string{"create"}, Scope: inspect.ScopeCluster,
				Purpose: "the configuration of the webhooks, which is created once",
			}, h)
			p.add(inspect.Permission{
				Group: c.Resource.Group, Resource: c.Resource.Plural, Names: []string{name}, Verbs: []string{"patch"}, Scope: inspect.ScopeCluster,
				Purpose: "webhooks, in their configuration",
			}, h)
		}
	}
	return name
}
