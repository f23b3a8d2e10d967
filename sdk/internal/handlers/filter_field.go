package handlers

import (
	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// fieldValue is the value of a field in one state of an object.
type fieldValue struct {
	Value any
	Found bool
}

// fieldFilter is the conditions on one field.
type fieldFilter struct {
	Path string // path for [Mismatch] only

	// Value is the condition that at least one of the states must meet; nil means presence.
	Value *Criterion

	// Changed requires the field to differ between its states.
	Changed bool

	// Old and New are the conditions on the respective state; nil means none.
	Old, New *Criterion
}

// matchOne checks the field of an object that has only one state.
func (f *fieldFilter) matchOne(c *Cause, now fieldValue, why *Mismatch) bool {
	criterion, kind := f.value()
	if criterion.accepts(c, now.Value, now.Found) {
		return true
	}
	if why != nil {
		why.fail(kind, f.Path, now.Value, now.Found, criterion.Wants())
	}
	return false
}

// matchEither checks the field in both states of an object, however they differ: it reports
// whether the object can be of interest to the handler.
func (f *fieldFilter) matchEither(c *Cause, before, now fieldValue, why *Mismatch) bool {
	criterion, kind := f.value()
	// The new state first: if it is accepted, functions are not called for the old one.
	if criterion.accepts(c, now.Value, now.Found) || criterion.accepts(c, before.Value, before.Found) {
		return true
	}
	if why != nil {
		why.fail(kind, f.Path, now.Value, now.Found, criterion.Wants())
	}
	return false
}

// matchChange checks how the two states of the field differ.
func (f *fieldFilter) matchChange(c *Cause, before, now fieldValue, why *Mismatch) bool {
	if f.Changed && before.Found == now.Found && object.Equal(before.Value, now.Value) {
		if why != nil {
			why.fail(MismatchField, f.Path, now.Value, now.Found, WantsChanged)
		}
		return false
	}
	if f.Old != nil && !f.Old.accepts(c, before.Value, before.Found) {
		if why != nil {
			why.fail(MismatchOld, f.Path, before.Value, before.Found, f.Old.Wants())
		}
		return false
	}
	if f.New != nil && !f.New.accepts(c, now.Value, now.Found) {
		if why != nil {
			why.fail(MismatchNew, f.Path, now.Value, now.Found, f.New.Wants())
		}
		return false
	}
	return true
}

func (f *fieldFilter) value() (*Criterion, MismatchKind) {
	if f.Value == nil {
		return &Present, MismatchField
	}
	return f.Value, MismatchValue
}
