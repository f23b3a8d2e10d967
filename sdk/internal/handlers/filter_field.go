package handlers

import "github.com/kopf-dev/kopf/sdk/internal/object"

// Value is what a field has, or had: nothing if it is not found.
type ValueFilter struct {
	Value any
	Found bool
}

// Field are the criteria for one field.
type FieldFilter struct {
	Path string // for [Mismatch] only

	// Value must be met by the field in at least one of its states; nil asks
	// for it to be there.
	Value *Criterion

	// Changed asks for the field to differ between its states.
	Changed bool

	// Old and New must be met by the respective state; nil asks for nothing.
	Old, New *Criterion
}

// MatchOne checks the field of an object that has but one state.
func (f *FieldFilter) MatchOne(now ValueFilter, why *Mismatch) bool {
	criterion, kind := f.value()
	if criterion.Accepts(now.Value, now.Found) {
		return true
	}
	if why != nil {
		why.fail(kind, f.Path, now.Value, now.Found, criterion.Wants())
	}
	return false
}

// MatchEither checks the field of an object between two states, regardless of how they
// differ: this tells whether the object is of interest to the handler at all.
func (f *FieldFilter) MatchEither(before, now ValueFilter, why *Mismatch) bool {
	criterion, kind := f.value()
	// The new state goes first: functions are not bothered with the old one in vain.
	if criterion.Accepts(now.Value, now.Found) || criterion.Accepts(before.Value, before.Found) {
		return true
	}
	if why != nil {
		why.fail(kind, f.Path, now.Value, now.Found, criterion.Wants())
	}
	return false
}

// MatchChange checks how the two states of the field differ.
func (f *FieldFilter) MatchChange(before, now ValueFilter, why *Mismatch) bool {
	if f.Changed && before.Found == now.Found && object.Equal(before.Value, now.Value) {
		if why != nil {
			why.fail(MismatchField, f.Path, now.Value, now.Found, WantsChanged)
		}
		return false
	}
	if f.Old != nil && !f.Old.Accepts(before.Value, before.Found) {
		if why != nil {
			why.fail(MismatchOld, f.Path, before.Value, before.Found, f.Old.Wants())
		}
		return false
	}
	if f.New != nil && !f.New.Accepts(now.Value, now.Found) {
		if why != nil {
			why.fail(MismatchNew, f.Path, now.Value, now.Found, f.New.Wants())
		}
		return false
	}
	return true
}

func (f *FieldFilter) value() (*Criterion, MismatchKind) {
	if f.Value == nil {
		return &Present, MismatchField
	}
	return f.Value, MismatchValue
}
