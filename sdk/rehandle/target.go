// Package rehandle marks existing objects, so that an operator calls one of its handlers for them again. "kopf rehandle" uses it.
package rehandle

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// Target identifies a handler of an operator, and selects the objects for which it is called again.
type Target struct {
	Handler string // id of the handler
	Version string // version of the handler that must handle the objects
	Prefix  string // prefix of the operator's annotations

	Resources     []inspect.APIResource
	Namespaces    []string // names of namespaces; empty for all
	LabelSelector string   // selector of the objects by their labels; empty for all
}

// NewTarget returns the target for a handler of the described operators, in a cluster with the given resources. If the id is empty, only
// one handler may have a version. It returns an error if no operator has the handler with a version, or if several have it.
func NewTarget(operators []inspect.Description, cluster []inspect.APIResource, id string) (Target, error) {
	if id == "" {
		var err error
		if id, err = onlyVersioned(operators); err != nil {
			return Target{}, err
		}
	}
	var found []Target
	known := false
	for _, d := range operators {
		var names []string // registrations with a version, such as "create (claims.go:12)"
		version := ""
		for _, h := range d.Handlers {
			known = known || h.ID == id
			if h.ID != id || h.Version == "" {
				continue
			}
			if version != "" && version != h.Version {
				return Target{}, fmt.Errorf("the handler %q has the versions %s and %s for different resources; give it one version, or two ids", id, version, h.Version)
			}
			version, names = h.Version, append(names, registration(h))
		}
		if version != "" {
			found = append(found, Target{Handler: id, Version: version, Prefix: d.Prefix, Resources: handled(d, cluster, names)})
		}
	}
	switch {
	case len(found) > 1:
		return Target{}, fmt.Errorf("several operators have the handler %q with a version; name the package of one operator", id)
	case len(found) == 1 && len(found[0].Resources) == 0:
		return Target{}, fmt.Errorf("the cluster has no resource of the handler %q", id)
	case len(found) == 1:
		return found[0], nil
	case known:
		return Target{}, fmt.Errorf("the handler %q has no version; give it one with kopf.Version(\"2\"), and deploy the operator", id)
	}
	return Target{}, fmt.Errorf("the operator has no handler %q; %s", id, listVersioned(versioned(operators)))
}

// versioned returns the ids of the handlers with a version, sorted.
func versioned(operators []inspect.Description) []string {
	var ids []string
	for _, d := range operators {
		for _, h := range d.Handlers {
			if h.Version != "" {
				ids = append(ids, h.ID)
			}
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

func onlyVersioned(operators []inspect.Description) (string, error) {
	ids := versioned(operators)
	switch len(ids) {
	case 0:
		return "", errors.New(listVersioned(ids) + "; give the changed handler one with kopf.Version(\"2\"), and deploy the operator")
	case 1:
		return ids[0], nil
	}
	return "", errors.New("which handler? " + listVersioned(ids))
}

func listVersioned(ids []string) string {
	if len(ids) == 0 {
		return "no handler has a version"
	}
	return "the handlers with a version are " + strings.Join(ids, ", ")
}

// registration returns the name of a registration in permissions.
func registration(h inspect.Registration) string { return h.ID + " (" + h.Source + ")" }

// handled returns the listable resources of the cluster that the given registrations handle. The names of the registrations are as in
// [inspect.Permission].
func handled(d inspect.Description, cluster []inspect.APIResource, names []string) []inspect.APIResource {
	var all []inspect.APIResource
	for _, r := range cluster {
		permits := func(p inspect.Permission) bool {
			return p.Purpose == inspect.HandledObjects && (p.Group == r.Group || p.Group == "*") && (p.Resource == r.Plural || p.Resource == "*") &&
				slices.ContainsFunc(p.Handlers, func(h string) bool { return slices.Contains(names, h) })
		}
		same := func(o inspect.APIResource) bool { return o.Group == r.Group && o.Plural == r.Plural }
		if slices.Contains(r.Verbs, "list") && slices.ContainsFunc(d.Permissions, permits) && !slices.ContainsFunc(all, same) {
			all = append(all, r)
		}
	}
	return all
}
