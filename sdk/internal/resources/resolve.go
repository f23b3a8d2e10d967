package resources

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Demand is a selector with what its handlers need.
type Demand struct {
	Selector Selector
	Watch    bool // list and watch the objects
	Patch    bool // keep state in the objects
}

// ambiguity is a selector for one resource that matches several.
type ambiguity struct {
	Selector  Selector
	Resources []Resource
}

// Resolution is the resources to serve for some demands, and those that cannot be served.
type Resolution struct {
	Served []Resource // served resources, sorted by key

	Ambiguous    []ambiguity
	Unresolved   []Selector // selectors that match no resource, or only ambiguous ones
	NonWatchable []Resource
	NonPatchable []Resource
	Rejected     []Rejection
}

// Rejection is a resource whose handlers cannot be called as they are.
type Rejection struct {
	Resource Resource
	Reason   string
}

// Reject drops the resources that a function returns a reason against.
func (r *Resolution) Reject(reason func(*Resource) string) {
	r.Served = slices.DeleteFunc(r.Served, func(res Resource) bool {
		why := reason(&res)
		if why != "" {
			r.Rejected = append(r.Rejected, Rejection{res, why})
		}
		return why != ""
	})
}

// Resolve selects the resources to serve. A resource that an ambiguous selector matches is not served, even if an
// unambiguous selector matches it too: the objects would be marked as handled, and the handlers of the ambiguous
// selector would never see the creations.
func Resolve(demands []Demand, all []Resource) Resolution {
	var res Resolution
	dropped := map[schema.GroupVersionResource]bool{}
	served := map[schema.GroupVersionResource]*Resource{}
	var distinct []Demand
	for _, d := range demands {
		if slices.Contains(distinct, d) {
			continue
		}
		distinct = append(distinct, d)
		selected := d.Selector.Select(all)
		for i := range selected {
			served[selected[i].GVR()] = &selected[i]
		}
		if d.Selector.Specific() && len(selected) > 1 {
			if !slices.ContainsFunc(res.Ambiguous, func(a ambiguity) bool { return a.Selector == d.Selector }) {
				sortByKey(selected)
				res.Ambiguous = append(res.Ambiguous, ambiguity{d.Selector, selected})
			}
			for i := range selected {
				dropped[selected[i].GVR()] = true
			}
		}
	}
	for gvr := range dropped {
		delete(served, gvr)
	}

	for _, d := range distinct {
		matches := false
		selected := d.Selector.Select(all)
		for i := range selected {
			r := &selected[i]
			gvr := r.GVR()
			if dropped[gvr] {
				continue
			}
			matches = true
			var unserved *[]Resource
			switch {
			case d.Watch && !r.watchable():
				unserved = &res.NonWatchable
			case d.Patch && !r.patchable():
				unserved = &res.NonPatchable
			}
			if unserved != nil && served[gvr] != nil {
				*unserved = append(*unserved, *r)
				delete(served, gvr)
			}
		}
		if !matches && !slices.Contains(res.Unresolved, d.Selector) {
			res.Unresolved = append(res.Unresolved, d.Selector)
		}
	}

	for _, r := range served {
		res.Served = append(res.Served, *r)
	}
	sortByKey(res.Served)
	sortByKey(res.NonWatchable)
	sortByKey(res.NonPatchable)
	return res
}

// Warnings returns the log messages about selectors whose resources are not served.
func (r *Resolution) Warnings() []string {
	var lines []string
	for _, a := range r.Ambiguous {
		lines = append(lines, fmt.Sprintf("Ambiguous resources will not be served (try specifying API groups): %s => %s",
			a.Selector, join(a.Resources)))
	}
	if len(r.Unresolved) > 0 {
		names := make([]string, len(r.Unresolved))
		for i, s := range r.Unresolved {
			names[i] = s.String()
		}
		lines = append(lines, "Unresolved resources cannot be served (try creating their CRDs): "+strings.Join(names, ", "))
	}
	if len(r.NonWatchable) > 0 {
		lines = append(lines, "Non-watchable resources will not be served: "+join(r.NonWatchable))
	}
	if len(r.NonPatchable) > 0 {
		lines = append(lines, "Non-patchable resources will not be served: "+join(r.NonPatchable))
	}
	for _, rejected := range r.Rejected {
		lines = append(lines, "A resource will not be served: "+rejected.Resource.Key()+": "+rejected.Reason)
	}
	return lines
}

func sortByKey(rs []Resource) {
	sort.Slice(rs, func(i, j int) bool { return rs[i].Key() < rs[j].Key() })
}

func join(rs []Resource) string {
	keys := make([]string, len(rs))
	for i := range rs {
		keys[i] = rs[i].Key()
	}
	return strings.Join(keys, ", ")
}
