package handlers

import "time"

// Outcome is what one attempt of a handler came to.
type Outcome struct {
	// Final means that the handler is not called again in this cycle of handling:
	// it has succeeded (Err is nil) or has failed for good (Err is set).
	Final bool

	// Delay is the time to wait before the next attempt of a handler that is not
	// final. Nil means that the next attempt may come at once.
	Delay *time.Duration

	// Result is what the handler returned; nil if it returned nothing.
	Result any

	// Err is why the attempt failed; nil if it did not.
	Err error

	// Subrefs are the ids of all sub-handlers that the handler is known to have,
	// so that their records can be purged together with the handler's own.
	Subrefs []string
}
