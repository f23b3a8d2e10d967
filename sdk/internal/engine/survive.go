package engine

import (
	"errors"
	"runtime/debug"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
)

// survive makes a panic an error. Handlers are not all that users write: there are filters,
// storages, lifecycles, transformations. None of them may take the other objects down.
func survive(err *error) {
	if value := recover(); value != nil {
		*err = &handlers.PanicError{Value: value, Stack: debug.Stack()}
	}
}

// reasons are the attributes of the log for an error: where it comes from too, if it was a
// panic.
func reasons(err error) []any {
	attrs := []any{"error", err}
	var panicked *handlers.PanicError
	if errors.As(err, &panicked) {
		attrs = append(attrs, stackKey, string(panicked.Stack))
	}
	return attrs
}
