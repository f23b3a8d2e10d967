package engine

import (
	"slices"
	"strings"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/engine/serving"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

// Describe describes an operator without a cluster: its handlers, and its permissions in a cluster with the given
// resources.
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
	d.Reviewed = p.reviewed()
	p.ofHandlers()
	d.Permissions, d.Unserved, d.Assumed = p.list, p.unserved, p.assumed
	return d, nil
}

// requestsOfHandlers is the purpose of the permissions in [handlers.Handler].Uses.
const requestsOfHandlers = "requests of the handlers themselves"

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

// ofHandlers adds the permissions for the objects of the handlers.
func (p *permissions) ofHandlers() {
	for _, add := range []func(*handlers.Handler){p.ofHandledObjects, p.ofChildren, p.ofWatched, p.ofRequests} {
		for _, h := range p.registry.All() {
			add(h)
		}
	}
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

// children is the purpose of the permissions in [handlers.Handler].Owns.
const children = "the children of the handled objects"

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

// reviewed returns the keys of the known resources with admission handlers.
func (p *permissions) reviewed() []string {
	var keys []string
	for _, h := range p.registry.Admission() {
		for _, res := range h.Selector.Select(p.known) {
			keys = appendNew(keys, res.Key())
		}
	}
	return keys
}

// addEvents adds the permissions for Kubernetes events about objects. Events about cluster-scoped objects are in the
// operator's namespace.
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

// resolve returns the resources of a selector. It records a selector that matches no resource, or several where one is
// expected.
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

// add adds a permission, and merges it with an earlier one for the same purpose. The handler needs the permission; it is
// nil if the operator itself does.
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
		wanted.Verbs = slices.Clone(wanted.Verbs)
		p.list = append(p.list, wanted)
	}
	o := &p.list[i]
	for _, verb := range wanted.Verbs {
		o.Verbs = appendNew(o.Verbs, verb)
	}
	if h != nil {
		o.Handlers = appendNew(o.Handlers, named(h))
	}
}

// appendNew appends a text to a list, unless the list has it.
func appendNew(list []string, text string) []string {
	if slices.Contains(list, text) {
		return list
	}
	return append(list, text)
}

// named returns the id of a handler with its position in the code.
func named(h *handlers.Handler) string { return h.ID + " (" + h.ShortSource() + ")" }
