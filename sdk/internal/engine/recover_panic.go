package engine

import "github.com/kopf-dev/kopf/sdk/internal/handlers"

// recoverPanic is deferred around functions of users, so that a panic becomes an error: daemons, but also
// filters, storages, lifecycles and transformations. [daemons.OnNewStack] does the same for other handlers,
// which [invoke] calls in goroutines of their own.
func recoverPanic(err *error) {
	if value := recover(); value != nil {
		*err = handlers.Panicked(value)
	}
}

// withRecovery calls a function, and returns its panic as an error.
func withRecovery(do func()) (err error) {
	defer recoverPanic(&err)
	do()
	return nil
}
