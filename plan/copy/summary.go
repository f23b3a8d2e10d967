package copy

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Summary describes a copy.
type Summary struct {
	// Context is the name of the cluster, and Version its version.
	Context, Version string
	// From and To are the times of the first and the last listing. The listings are not a snapshot of a single time.
	From, To time.Time
	// Resources are the listings with objects, sorted.
	Resources []Count
	// Refused are the listings that the cluster refused, sorted.
	Refused []Refusal
	// Redacted is the number of replaced values of Secrets.
	Redacted int
	// WithSecrets reports whether the values of Secrets are kept.
	WithSecrets bool
}

// Count is the number of objects of a listing.
type Count struct {
	Scope Scope
	Count int
}

// Refusal is a listing that the cluster refused.
type Refusal struct {
	Scope Scope
	// Code is the status of the answer: 404 if the cluster does not have the resource.
	Code int
	// Message is the message of the answer.
	Message string
}

// Summary describes the present content of the copy.
func (c *Copy) Summary() Summary {
	s := Summary{
		Context: c.options.Context, Version: c.version, WithSecrets: c.options.WithSecrets,
		Redacted: c.redacted + c.redactor.Replaced(),
	}
	for _, l := range c.kept() {
		if s.From.IsZero() || l.At.Before(s.From) {
			s.From = l.At
		}
		if l.At.After(s.To) {
			s.To = l.At
		}
		switch {
		case l.Refused != nil:
			s.Refused = append(s.Refused, Refusal{l.Scope, int(l.Refused.Code), l.Refused.Message})
		case len(l.Objects) > 0:
			s.Resources = append(s.Resources, Count{l.Scope, len(l.Objects)})
		}
	}
	return s
}

// Objects yields the objects of all kept listings with their resources. An object that was listed in several versions of its resource is
// yielded several times.
func (c *Copy) Objects() iter.Seq2[Object, schema.GroupVersionResource] {
	return func(yield func(Object, schema.GroupVersionResource) bool) {
		for _, l := range c.kept() {
			for _, o := range l.Objects {
				if !yield(o, l.Scope.Resource) {
					return
				}
			}
		}
	}
}

// kept returns the listings that are kept, sorted.
func (c *Copy) kept() []*Listing {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []*Listing
	for _, l := range c.listings {
		if l.kept != nil {
			all = append(all, l.kept)
		}
	}
	slices.SortFunc(all, func(a, b *Listing) int {
		return cmp.Or(
			cmp.Compare(a.Scope.Resource.Group, b.Scope.Resource.Group), cmp.Compare(a.Scope.Resource.Resource, b.Scope.Resource.Resource),
			cmp.Compare(a.Scope.Resource.Version, b.Scope.Resource.Version),
			cmp.Compare(a.Scope.Namespace, b.Scope.Namespace), cmp.Compare(a.Scope.Name, b.Scope.Name),
		)
	})
	return all
}
