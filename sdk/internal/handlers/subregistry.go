package handlers

import "fmt"

// Subregistry is the list of sub-handlers that a running handler has added.
type Subregistry struct {
	parent *Handler
	set    Set
}

// NewSubregistry returns an empty list of sub-handlers of a parent.
func NewSubregistry(parent *Handler) *Subregistry { return &Subregistry{parent: parent} }

// duplicateError rejects a second sub-handler with the same id, since their progress records would
// be mixed up. One function may be added again with other filters.
type duplicateError struct{ First, Second *Handler }

// Error implements the error interface.
func (e *duplicateError) Error() string {
	if e.First.Source == e.Second.Source {
		return fmt.Sprintf("sub-handler %q is added twice at %s; give each an id of its own", e.Second.ID, e.Second.ShortSource())
	}
	return fmt.Sprintf("sub-handler %q is added at %s and again at %s; give each an id of its own",
		e.Second.ID, e.First.ShortSource(), e.Second.ShortSource())
}

// Add adds a sub-handler, and puts the id of the parent before its own. It returns the registration errors.
func (r *Subregistry) Add(h *Handler) error {
	h.Family = Sub
	h.ID = MakeID(Sub, r.parent.ID, h.ID, h.Field)
	if (h.Old != nil || h.New != nil) && !r.parent.changes() {
		return fmt.Errorf("add sub-handler %q: %w", h.ID, errOldNew)
	}
	if err := h.Validate(); err != nil {
		return fmt.Errorf("add sub-handler %q: %w", h.ID, err)
	}
	for _, other := range r.set.all {
		if other.Clashes(h) {
			return &duplicateError{other, h}
		}
	}
	h.compile(r.parent)
	r.set.add(h)
	return nil
}

// Set returns the sub-handlers added so far, in the group [Changing].
func (r *Subregistry) Set() *Set { return &r.set }
