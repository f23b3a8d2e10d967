package handlers

import (
	"errors"
	"reflect"
)

// The mistakes in registrations.
var (
	// ErrNoID is the error of a handler with no name.
	ErrNoID = errors.New("the handler has no id")
	// ErrFieldRequired is the error of a check of a value with no field.
	ErrFieldRequired = errors.New("a value is checked, but there is no field to take it from")
	// ErrValueOrChange is the error of a check both of a value in any state and in one.
	ErrValueOrChange = errors.New("the value is checked both in any state and in the old or the new one")
	// ErrOldNew is the error of a check of the old or new value where nothing changes.
	ErrOldNew = errors.New("only handlers of updates and fields have an old and a new value")
	// ErrIncomparable is the error of an identity of a function that cannot be compared.
	ErrIncomparable = errors.New("the identity of the function is not comparable")
)

// Validate finds the mistakes in a registration, all of them.
func (h *Handler) Validate() error {
	var errs []error
	if h.ID == "" {
		errs = append(errs, ErrNoID)
	}
	changes := h.Old != nil || h.New != nil
	if len(h.Field) == 0 && (h.Value != nil || changes || h.Family == Field) {
		errs = append(errs, ErrFieldRequired)
	}
	if h.Value != nil && changes {
		errs = append(errs, ErrValueOrChange)
	}
	if changes && !h.changes() {
		errs = append(errs, ErrOldNew)
	}
	if h.Fn != nil && !reflect.TypeOf(h.Fn).Comparable() {
		errs = append(errs, ErrIncomparable)
	}
	return errors.Join(errs...)
}

// changes tells whether the handler is called between two states of an object.
func (h *Handler) changes() bool { return h.Family == Update || h.Family == Field || h.Family == Sub }
