package engine

import (
	"slices"
	"strings"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/admission"
	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/engine/reviews"
	"github.com/kopf-dev/kopf/sdk/internal/engine/serving"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

// Describe describes an operator without a cluster: its handlers, and its permissions in a cluster with the given resources.
func Describe(config Config, known []inspect.APIResource) (inspect.Description, error) {
	settings := config.Settings()
	if err := settings.Check(config.Registry); err != nil {
		return inspect.Description{}, err
	}
	p := permissions{
		registry: config.Registry, settings: &settings, namespaces: serving.NewNamespaces(config.Namespaces, core.NewWakeup()),
		inspected: config.Inspector != "",
	}
	for _, r := range known {
		p.known = append(p.known, resources.Resource(r))
	}
	d := inspect.Description{Namespaces: config.Namespaces, Liveness: settings.Liveness, Finalizer: settings.Finalizer}
	d.Prefix, d.Records = state.FailuresBeside(settings.Progress).Prefix, state.RecordFields(settings.DiffBase, settings.Progress)
	p.ofDiscovery()
	d.Peering, d.Leases, d.Webhooks = p.ofPeering(), p.ofReplicas(), p.ofWebhooks()
	for _, h := range config.Registry.All() {
		d.Handlers = append(d.Handlers, inspect.Registration{
			ID: h.ID, Kind: inspect.HandlerKind(h.Family), Selector: h.Selector.String(), Source: h.ShortSource(), Version: h.Version,
		})
	}
	for _, h := range config.Registry.Admission() {
		for _, res := range h.Selector.Select(p.known) {
			d.Reviewed = appendNew(d.Reviewed, res.Key())
		}
	}
	for _, add := range []func(*handlers.Handler){p.ofHandledObjects, p.ofChildren, p.ofWatched, p.ofRequests} {
		for _, h := range config.Registry.All() {
			add(h)
		}
	}
	d.Permissions, d.Unserved, d.Assumed = p.list, p.unserved, p.assumed
	return d, nil
}

const (
	children           = "the children of the handled objects" // purpose of the permissions in [handlers.Handler].Owns
	requestsOfHandlers = "requests of the handlers themselves" // purpose of the permissions in [handlers.Handler].Uses
)

// permissions collects the permissions that an operator needs in a cluster.
type permissions struct {
	registry   *handlers.Registry
	settings   *core.Settings
	namespaces *serving.Namespaces
	known      []resources.Resource
	inspected  bool // the inspector shows the Kubernetes events of objects

	list     []inspect.Permission
	unserved []inspect.Unserved
	assumed  []string
}

func (p *permissions) ofHandledObjects(h *handlers.Handler) {
	group := h.Family.Group()
	verbs := []string{"list", "watch"}
	switch group {
	case handlers.Activities, handlers.Admission:
		return
	case handlers.Changing, handlers.Spawning, handlers.Reconciling:
		verbs = append(verbs, "patch")
	}
	for _, res := range p.resolve(h, h.Selector) {
		scope := p.scope(res.Namespaced)
		p.grant(h, inspect.HandledObjects, scope, res.Group, res.Plural, verbs...)
		if group != handlers.Indexing {
			p.addEvents(res.Namespaced)
		}
		if len(verbs) > 2 && res.HasSubresource("status") {
			p.grant(h, "results, and changes of the status", scope, res.Group, res.Plural+"/status", "patch")
		}
	}
}

// parents returns the resources of a handler. If one of them is cluster-scoped, its children can be in any namespace.
func (p *permissions) parents(h *handlers.Handler) (parents []resources.Resource, everywhere bool) {
	parents = p.resolve(h, h.Selector)
	return parents, slices.ContainsFunc(parents, func(res resources.Resource) bool { return !res.Namespaced })
}

func (p *permissions) ofChildren(h *handlers.Handler) {
	if len(h.Owns) == 0 {
		return
	}
	parents, everywhere := p.parents(h)
	blocks := false
	for _, owned := range h.Owns {
		verbs := []string{"list", "watch", "get", "create", "patch"}
		if !owned.Keep {
			verbs, blocks = append(verbs, "delete"), true
		}
		for _, res := range p.resolve(h, owned.Selector) {
			p.grant(h, children, p.scope(res.Namespaced && !everywhere && !owned.Elsewhere), res.Group, res.Plural, verbs...)
		}
	}
	if blocks {
		p.ofOwners(h, parents)
	}
}

func (p *permissions) ofWatched(h *handlers.Handler) {
	if len(h.Watches) == 0 {
		return
	}
	_, everywhere := p.parents(h)
	for _, watched := range h.Watches {
		for _, res := range p.resolve(h, watched.Selector) {
			scope := p.scope(res.Namespaced && !everywhere)
			p.grant(h, "objects that concern the handled objects", scope, res.Group, res.Plural, "list", "watch")
		}
	}
}

// ofOwners adds the permissions that some clusters require for owner references that block the deletion of the owner.
func (p *permissions) ofOwners(h *handlers.Handler, owners []resources.Resource) {
	for _, res := range owners {
		p.grant(h, children, p.scope(res.Namespaced), res.Group, res.Plural+"/finalizers", "update")
	}
}

func (p *permissions) ofRequests(h *handlers.Handler) {
	everywhere := false
	if h.Family.Group() != handlers.Activities && slices.ContainsFunc(h.Uses, handlers.Use.Applies) {
		var parents []resources.Resource
		parents, everywhere = p.parents(h)
		p.ofOwners(h, parents)
	}
	for _, use := range h.Uses {
		for _, res := range p.resolve(h, use.Selector) {
			plural := strings.TrimSuffix(res.Plural+"/"+use.Subresource, "/")
			scope := p.scope(res.Namespaced && !(everywhere && use.Applies()))
			wanted := inspect.Permission{Group: res.Group, Resource: plural, Scope: scope, Purpose: requestsOfHandlers}
			wanted.Verbs = slices.DeleteFunc(slices.Clone(use.Verbs), func(verb string) bool { return p.has(wanted, verb) })
			p.add(h, wanted)
		}
	}
}

// addEvents adds the permissions for Kubernetes events. Events about cluster-scoped objects are in the operator's namespace.
func (p *permissions) addEvents(namespaced bool) {
	scope := p.scope(true)
	if !namespaced && scope == inspect.ScopeServed {
		scope = inspect.ScopeOwn
	}
	if !p.settings.Posting.Disabled {
		p.grant(nil, "the operator itself: to post Kubernetes events about the objects", scope, "", "events", "create", "patch")
	}
	if p.inspected {
		p.grant(nil, "the operator itself: to show the Kubernetes events about the objects in kopf attach", scope, "", "events", "list")
	}
}

// scope returns the scope of the permissions for namespaced or cluster-scoped objects.
func (p *permissions) scope(namespaced bool) inspect.PermissionScope {
	if !namespaced || p.namespaces.ClusterWide() || !p.namespaces.AllNamed() {
		return inspect.ScopeCluster
	}
	return inspect.ScopeServed
}

// resolve returns the resources of a selector. It records a selector that matches none, or several where one is expected.
func (p *permissions) resolve(h *handlers.Handler, s resources.Selector) []resources.Resource {
	if s.Name == resources.Everything { // one resource stands for all
		group := s.Group
		if group == "" && !s.Core {
			group = "*"
		}
		return []resources.Resource{{Group: group, Plural: "*", Namespaced: true}}
	}
	selected := s.Select(p.known)
	switch {
	case len(selected) > 1 && s.Specific():
		keys := make([]string, len(selected))
		for i := range selected {
			keys[i] = selected[i].Key()
		}
		p.note(h, s, inspect.UnservedAmbiguous, keys)
		return nil
	case len(selected) > 0:
		return selected
	}
	name := s.Plural
	if name == "" && s.Name == strings.ToLower(s.Name) {
		name = s.Name // the usual notation
	}
	if name == "" || s.Group == "" && !s.Core {
		p.note(h, s, inspect.UnservedUnresolved, nil)
		return nil
	}
	p.assumed = appendNew(p.assumed, strings.TrimSuffix(name+"."+s.Group, "."))
	return []resources.Resource{{Group: s.Group, Version: s.Version, Plural: name, Subresources: []string{"status"}, Namespaced: true}}
}

func (p *permissions) note(h *handlers.Handler, s resources.Selector, reason inspect.UnservedReason, matches []string) {
	i := slices.IndexFunc(p.unserved, func(u inspect.Unserved) bool { return u.Selector == s.String() })
	if i < 0 {
		i = len(p.unserved)
		p.unserved = append(p.unserved, inspect.Unserved{Selector: s.String(), Reason: reason, Matches: matches})
	}
	p.unserved[i].Handlers = appendNew(p.unserved[i].Handlers, named(h))
}

// has reports whether the operator itself already needs a verb of a permission.
func (p *permissions) has(wanted inspect.Permission, verb string) bool {
	return slices.ContainsFunc(p.list, func(o inspect.Permission) bool {
		return o.Purpose != requestsOfHandlers && len(o.Names) == 0 && (o.Scope == wanted.Scope || o.Scope == inspect.ScopeCluster) &&
			(o.Group == wanted.Group || o.Group == "*") && (o.Resource == wanted.Resource || o.Resource == "*") && slices.Contains(o.Verbs, verb)
	})
}

// grant is add for a permission without names.
func (p *permissions) grant(h *handlers.Handler, purpose string, scope inspect.PermissionScope, group, resource string, verbs ...string) {
	p.add(h, inspect.Permission{Group: group, Resource: resource, Verbs: verbs, Scope: scope, Purpose: purpose})
}

// add adds a permission of a handler, or of the operator itself if it is nil. It merges permissions for the same purpose.
func (p *permissions) add(h *handlers.Handler, wanted inspect.Permission) {
	if len(wanted.Verbs) == 0 {
		return
	}
	i := slices.IndexFunc(p.list, func(o inspect.Permission) bool {
		return o.Group == wanted.Group && o.Resource == wanted.Resource && slices.Equal(o.Names, wanted.Names) &&
			o.Scope == wanted.Scope && o.Namespace == wanted.Namespace && o.Purpose == wanted.Purpose
	})
	if i < 0 {
		i = len(p.list)
		p.list = append(p.list, wanted)
		p.list[i].Verbs = nil
	}
	o := &p.list[i]
	o.Verbs = appendNew(o.Verbs, wanted.Verbs...)
	if h != nil {
		o.Handlers = appendNew(o.Handlers, named(h))
	}
}

// appendNew appends the texts that a list does not have.
func appendNew(list []string, texts ...string) []string {
	for _, text := range texts {
		if !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	return list
}

// named returns the id of a handler with its position in the code.
func named(h *handlers.Handler) string { return h.ID + " (" + h.ShortSource() + ")" }

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

// ofPeering adds the permissions for peering, if the cluster has its resource or peering is mandatory. It returns the objects' name.
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
		scope := p.scope(namespaced)
		p.grant(nil, "the operator itself: to pause while an operator of a higher priority acts", scope, res.Group, res.Plural, "list", "watch")
		p.add(nil, inspect.Permission{
			Group: res.Group, Resource: written, Names: []string{settings.Name}, Verbs: []string{"patch"}, Scope: scope,
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
	lease, scope := &p.settings.Lease, inspect.ScopeOwn
	if lease.Namespace != "" {
		scope = inspect.ScopeNamed
	}
	add := func(purpose string, names []string, verbs ...string) {
		p.add(nil, inspect.Permission{
			Group: "coordination.k8s.io", Resource: "leases", Names: names, Verbs: verbs, Scope: scope, Namespace: lease.Namespace, Purpose: purpose,
		})
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

// ofWebhooks adds the permissions for webhook configurations. It returns the name of the configurations; empty without any.
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
