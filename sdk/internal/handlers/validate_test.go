package handlers

import (
	"errors"
	"testing"
)

func TestValidate_ReturnsAllMistakes(t *testing.T) {
	x := EqualStringCriterion("x")
	h := &Handler{Family: Create, Value: &x, Old: &x, KeepOnFailure: true, Optional: true, Fn: func() {}}
	err := h.Validate()
	for _, want := range []error{errNoID, errFieldRequired, errValueOrChange, errOldNew, errKeepOptional, errIncomparable} {
		if !errors.Is(err, want) {
			t.Errorf("got %v, want %v in it", err, want)
		}
	}
}
