package core

import "github.com/kopf-dev/kopf/sdk/internal/handlers"

// RecoverPanic turns a panic of a user's function into an error; callers defer it. [daemons.OnNewStack] does the same for handlers that
// [call.invoke] calls in separate goroutines.
func RecoverPanic(err *error) {
	if value := recover(); value != nil {
		*err = handlers.Panicked(value)
	}
}

// WithRecovery calls a function, and returns its panic as an error.
func WithRecovery(do func()) (err error) {
	defer RecoverPanic(&err)
	do()
	return nil
}
