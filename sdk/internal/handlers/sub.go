package handlers

import "fmt"

// Subregistry has the sub-handlers that a running handler has added.
type Subregistry struct {
	parent *Handler
	set    Set
}

// NewSubregistry makes an empty registry for sub-handlers of a handler.
func NewSubregistry(parent *Handler) *Subregistry { return &Subregistry{parent: parent} }

// DuplicateError is the error of two sub-handlers with one id: their progress could not be
// told apart.
type DuplicateError struct{ ID string }

// Error implements the error interface.
func (e *DuplicateError) Error() string {
	return fmt.Sprintf("there is a sub-handler %q already", e.ID)
}

// Add adds a sub-handler, whose id is put behind that of the parent.
func (r *Subregistry) Add(h *Handler) error {
	h.Family = Sub
	h.ID = MakeID(Sub, r.parent.ID, h.ID, h.Field)
	if (h.Old != nil || h.New != nil) && !r.parent.changes() {
		return fmt.Errorf("sub-handler %q: %w", h.ID, ErrOldNew)
	}
	if err := h.Validate(); err != nil {
		return fmt.Errorf("sub-handler %q: %w", h.ID, err)
	}
	for _, other := range r.set.all {
		if other.ID == h.ID {
			return &DuplicateError{h.ID}
		}
	}
	h.compile(r.parent)
	r.set.add(h)
	return nil
}

// Set are the sub-handlers added so far, in the group [Changing].
func (r *Subregistry) Set() *Set { return &r.set }
