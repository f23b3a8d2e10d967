package engine

import "github.com/kopf-dev/kopf/sdk/internal/handlers"

// recoverPanic is deferred around functions of users, so that a panic becomes an error: handlers,
// but also filters, storages, lifecycles and transformations.
func recoverPanic(err *error) {
	if value := recover(); value != nil {
		*err = handlers.Panicked(value)
	}
}
