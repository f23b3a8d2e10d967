package kopf

import (
	"context"
	"time"
)

// A ProgressStorage stores how far the handlers of an object are. To store on the
// object, it writes to the patch; to store elsewhere, it does so at once. Package
// storage has the usual ones. It is used by many goroutines at the same time. With an
// error, the object is left alone for a while: see [Settings.Queueing].ErrorDelays. See the
// chapter "Continuity" of Kopf's documentation.
type ProgressStorage interface {
	// Fetch returns the record of a handler; nil if there is none.
	Fetch(ctx context.Context, body *Object, id string) (*ProgressRecord, error)

	// Store keeps the record of a handler.
	Store(ctx context.Context, body *Object, id string, record *ProgressRecord, patch *Patch) error

	// Purge forgets the record of a handler, if there is one.
	Purge(ctx context.Context, body *Object, id string, patch *Patch) error

	// Touch makes a change of the object that does nothing but cause an event; with the
	// empty value, it undoes it. A storage that does not store on the object need do
	// nothing.
	Touch(ctx context.Context, body *Object, value string, patch *Patch) error

	// Clean removes from an essence what the storage has put on the object.
	Clean(essence map[string]any)
}

// ProgressRecord is how far a handler is: what a [ProgressStorage] stores. Times are in
// UTC, to the microsecond.
type ProgressRecord struct {
	Started time.Time // when the handler was selected for the first time
	Stopped time.Time // when it succeeded or failed for good; zero before
	Delayed time.Time // when it may be called again at the earliest; zero is at once
	Purpose Reason    // what it is called for
	Retries int       // how often it was called
	Success bool      // it is done
	Failure bool      // it has failed for good
	Message string    // the last error
	Subrefs []string  // ids of sub-handlers, of all levels
}

// A DiffBaseStorage stores the essence of an object as it was last handled, to tell
// what has changed since. Package storage has the usual ones. It is used by many
// goroutines at the same time, and its errors are as those of a [ProgressStorage]. See the
// chapter "Continuity" of Kopf's documentation.
type DiffBaseStorage interface {
	// Essence returns what matters of the object. The framework has taken out the
	// status, except for the fields that handlers ask for, and the system fields. The
	// essence may be modified.
	Essence(body *Object, essence map[string]any) map[string]any

	// Fetch returns the essence as it was last handled; nil if it never was.
	Fetch(ctx context.Context, body *Object) (map[string]any, error)

	// Store keeps an essence as the one last handled. It is not to be modified.
	Store(ctx context.Context, body *Object, essence map[string]any, patch *Patch) error
}
