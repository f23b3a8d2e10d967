package explain

import (
	"slices"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// IsIndexComplete reports whether an index has all objects of its resources.
func IsIndexComplete(s *inspect.Snapshot, x *inspect.Index) bool {
	return !slices.ContainsFunc(s.Served, func(r inspect.Resource) bool { return !r.Listed && slices.Contains(x.Resources, r.Key) })
}

// IndexWord returns the word for the completeness of an index.
func IndexWord(s *inspect.Snapshot, x *inspect.Index) Word {
	switch {
	case len(x.Resources) == 0:
		return Word{"!", "unfilled", Warn}
	case !IsIndexComplete(s, x):
		return Word{"◌", "filling", Warn}
	}
	return Word{"✓", "complete", OK}
}
