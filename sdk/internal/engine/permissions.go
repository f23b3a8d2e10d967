package engine

import (
	"slices"
	"strings"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/engine/serving"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

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

func (p *permissions) ofHandledObjects() {
	for _, h := range p.registry.All() {
		group := h.Family.Group()
		verbs := []string{"list", "watch"}
		switch group {
		case handlers.Activities, handlers.Admission:
			continue
		case handlers.Changing, handlers.Spawning, handlers.Reconciling:
			verbs = append(verbs, "patch")
		}
		for _, res := range p.resolve(h, h.Selector) {
			p.add(inspect.Permission{
				Group: res.Group, Resource: res.Plural, Verbs: verbs, Scope: p.scope(res.Namespaced), Purpose: inspect.HandledObjects,
			}, h)
			p.addEvents(group, res.Namespaced)
			if len(verbs) > 2 && res.HasSubresource("status") {
				p.add(inspect.Permission{
					Group: res.Group, Resource: res.Plural + "/status", Verbs: []string{"patch"}, Scope: p.scope(res.Namespaced),
					Purpose: "results, and changes of the status",
				}, h)
			}
		}
	}
}

// children is the purpose of the permissions in [handlers.Handler].Owns.
const children = "the children of the handled objects"

func (p *permissions) ofChildren() {
	for _, h := range p.registry.All() {
		if len(h.Owns) == 0 {
			continue
		}
		parents := p.resolve(h, h.Selector)
		everywhere := slices.ContainsFunc(parents, func(res resources.Resource) bool { return !res.Namespaced })
		blocks := false
		for _, owned := range h.Owns {
			verbs := []string{"list", "watch", "get", "create", "patch"}
			if !owned.Keep {
				verbs, blocks = append(verbs, "delete"), true
			}
			for _, res := range p.resolve(h, owned.Selector) {
				p.add(inspect.Permission{
					Group: res.Group, Resource: res.Plural, Verbs: verbs, Scope: p.scope(res.Namespaced && !everywhere && !owned.Elsewhere), Purpose: children,
				}, h)
			}
		}
		if blocks {
			p.ofOwners(h, parents)
		}
	}
}

func (p *permissions) ofWatched() {
	for _, h := range p.registry.All() {
		if len(h.Watches) == 0 {
			continue
		}
		parents := p.resolve(h, h.Selector)
		everywhere := slices.ContainsFunc(parents, func(res resources.Resource) bool { return !res.Namespaced })
		for _, watched := range h.Watches {
			for _, res := range p.resolve(h, watched.Selector) {
				p.add(inspect.Permission{
					Group: res.Group, Resource: res.Plural, Verbs: []string{"list", "watch"}, Scope: p.scope(res.Namespaced && !everywhere),
					Purpose: "objects that concern the handled objects",
				}, h)
			}
		}
	}
}

// ofOwners adds the permissions that some clusters require for owner references that block the deletion of the owner.
func (p *permissions) ofOwners(h *handlers.Handler, owners []resources.Resource) {
	for _, res := range owners {
		p.add(inspect.Permission{
			Group: res.Group, Resource: res.Plural + "/finalizers", Verbs: []string{"update"}, Scope: p.scope(res.Namespaced), Purpose: children,
		}, h)
	}
}

// reviewed returns the keys of the known resources with admission handlers.
func (p *permissions) reviewed() []string {
	var keys []string
	for _, h := range p.registry.All() {
		if h.Family.Group() != handlers.Admission {
			continue
		}
		for _, res := range h.Selector.Select(p.known) {
			if key := res.Key(); !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

// addEvents adds the permissions for Kubernetes events about objects. Events about cluster-scoped objects are in the
// operator's namespace.
func (p *permissions) addEvents(group handlers.Group, namespaced bool) {
	if group == handlers.Indexing {
		return
	}
	scope := p.scope(true)
	if !namespaced && scope == inspect.ScopeServed {
		scope = inspect.ScopeOwn
	}
	if !p.settings.Posting.Disabled {
		p.add(inspect.Permission{
			Resource: "events", Verbs: []string{"create", "patch"}, Scope: scope,
			Purpose: "the operator itself: to post Kubernetes events about the objects",
		}, nil)
	}
	if p.inspected {
		p.add(inspect.Permission{
			Resource: "events", Verbs: []string{"list"}, Scope: scope,
			Purpose: "the operator itself: to show the Kubernetes events about the objects in kopf attach",
		}, nil)
	}
}

func (p *permissions) ofRequests() {
	for _, h := range p.registry.All() {
		everywhere := false // children of cluster-scoped parents can be in any namespace
		if h.Family.Group() != handlers.Activities && slices.ContainsFunc(h.Uses, handlers.Use.Applies) {
			parents := p.resolve(h, h.Selector)
			p.ofOwners(h, parents)
			everywhere = slices.ContainsFunc(parents, func(res resources.Resource) bool { return !res.Namespaced })
		}
		for _, use := range h.Uses {
			for _, res := range p.resolve(h, use.Selector) {
				plural := res.Plural
				if use.Subresource != "" {
					plural += "/" + use.Subresource
				}
				scope := p.scope(res.Namespaced && !(everywhere && use.Applies()))
				wanted := inspect.Permission{Group: res.Group, Resource: plural, Scope: scope, Purpose: requestsOfHandlers}
				wanted.Verbs = slices.DeleteFunc(slices.Clone(use.Verbs), func(verb string) bool { return p.has(wanted, verb) })
				p.add(wanted, h)
			}
		}
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
	if s.Name == resources.Everything {
		return []resources.Resource{p.everything(s)}
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
	res := resources.Resource{Group: s.Group, Version: s.Version, Plural: name, Subresources: []string{"status"}, Namespaced: true}
	if full := strings.TrimSuffix(name+"."+s.Group, "."); !slices.Contains(p.assumed, full) {
		p.assumed = append(p.assumed, full)
	}
	return []resources.Resource{res}
}

// everything returns a resource that stands for all resources of a selector.
func (p *permissions) everything(s resources.Selector) resources.Resource {
	group := s.Group
	if group == "" && !s.Core {
		group = "*"
	}
	return resources.Resource{Group: group, Plural: "*", Namespaced: true}
}

func (p *permissions) note(h *handlers.Handler, s resources.Selector, reason inspect.UnservedReason, matches []string) {
	i := slices.IndexFunc(p.unserved, func(u inspect.Unserved) bool { return u.Selector == s.String() })
	if i < 0 {
		i = len(p.unserved)
		p.unserved = append(p.unserved, inspect.Unserved{Selector: s.String(), Reason: reason, Matches: matches})
	}
	if name := named(h); !slices.Contains(p.unserved[i].Handlers, name) {
		p.unserved[i].Handlers = append(p.unserved[i].Handlers, name)
	}
}

// has reports whether the operator itself already needs a verb of a permission.
func (p *permissions) has(wanted inspect.Permission, verb string) bool {
	return slices.ContainsFunc(p.list, func(o inspect.Permission) bool {
		return o.Purpose != requestsOfHandlers && len(o.Names) == 0 && (o.Scope == wanted.Scope || o.Scope == inspect.ScopeCluster) &&
			(o.Group == wanted.Group || o.Group == "*") && (o.Resource == wanted.Resource || o.Resource == "*") && slices.Contains(o.Verbs, verb)
	})
}

// add adds a permission, and merges it with an earlier one for the same purpose. The handler needs the permission; it is
// nil if the operator itself does.
func (p *permissions) add(wanted inspect.Permission, h *handlers.Handler) {
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
		if !slices.Contains(o.Verbs, verb) {
			o.Verbs = append(o.Verbs, verb)
		}
	}
	if h != nil && !slices.Contains(o.Handlers, named(h)) {
		o.Handlers = append(o.Handlers, named(h))
	}
}

// named returns the id of a handler with its position in the code.
func named(h *handlers.Handler) string { return h.ID + " (" + h.ShortSource() + ")" }
