package handlers

import (
	"errors"
	"reflect"
)

// The registration errors.
var (
	errNoID          = errors.New("the handler has no id")
	errFieldRequired = errors.New("a value is checked without a field; name the field")
	errValueOrChange = errors.New("the value is checked both in any state and in the old or the new one; use one of them")
	errOldNew        = errors.New("only update handlers and field handlers have an old and a new value")
	errKeepOptional  = errors.New("KeepOnFailure needs the finalizer, which an Optional handler does without; use one of them")
	errIncomparable  = errors.New("the identity of the function is not comparable")
)

// Validate returns all errors of a registration, joined; nil if there are none.
func (h *Handler) Validate() error {
	var errs []error
	if h.ID == "" {
		errs = append(errs, errNoID)
	} else if err := checkID(h.ID); err != nil {
		errs = append(errs, err)
	}
	changes := h.Old != nil || h.New != nil
	if len(h.Field) == 0 && (h.Value != nil || changes || h.Family == Field) {
		errs = append(errs, errFieldRequired)
	}
	if h.Value != nil && changes {
		errs = append(errs, errValueOrChange)
	}
	if changes && !h.changes() {
		errs = append(errs, errOldNew)
	}
	if h.KeepOnFailure && h.Optional {
		errs = append(errs, errKeepOptional)
	}
	if h.Fn != nil && !reflect.TypeOf(h.Fn).Comparable() {
		errs = append(errs, errIncomparable)
	}
	return errors.Join(errs...)
}

// changes reports whether the handler is called with two states of an object.
func (h *Handler) changes() bool { return h.Family == Update || h.Family == Field || h.Family == Sub }
