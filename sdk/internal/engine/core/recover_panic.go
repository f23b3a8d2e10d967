package core

import "github.com/kopf-dev/kopf/sdk/internal/handlers"

// RecoverPanic is deferred around functions of users, so that a panic becomes an error: daemons, but also
// filters, storages, lifecycles and transformations. [daemons.OnNewStack] does the same for other handlers,
// which [call.invoke] calls in goroutines of their own.
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
