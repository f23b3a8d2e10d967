package kopf

import (
	"context"
	"time"
)

// ProgressStorage stores the progress of handlers. A storage on the object writes to the patch; another storage, such as a
// database, writes at once. It must be safe for concurrent use. After an error, the operator handles the object again after
// the next delay of [QueueingSettings].ErrorDelays. Package [github.com/kopf-dev/kopf/sdk/kopf/storage] has the built-in
// storages. See [Storages].
//
// [Storages]: https://github.com/kopf-dev/kopf/blob/main/docs/state-on-objects.md#storages
type ProgressStorage interface {
	// Fetch returns the record of a handler; nil if there is none.
	Fetch(ctx context.Context, body *Object, id string) (*ProgressRecord, error)

	// Store stores the record of a handler.
	Store(ctx context.Context, body *Object, id string, record *ProgressRecord, patch *Patch) error

	// Purge removes the record of a handler, if there is one.
	Purge(ctx context.Context, body *Object, id string, patch *Patch) error

	// Touch changes the object in a way that only causes a watch event; the empty value undoes it.
	// A storage that does not store on the object may do nothing.
	Touch(ctx context.Context, body *Object, value string, patch *Patch) error

	// Clean removes the storage's records from an essence.
	Clean(essence map[string]any)
}

// ProgressRecord is the progress of one handler, which a [ProgressStorage] stores. Times are in UTC, with a precision of
// microseconds.
type ProgressRecord struct {
	Started time.Time // time when the handler was first selected
	Stopped time.Time // time of success or permanent failure; zero until then
	Delayed time.Time // earliest time of the next call; zero means at once
	Purpose Reason    // reason for which the handler is called, such as "create"; empty if unknown
	Retries int       // number of calls so far
	Success bool      // the handler succeeded
	Failure bool      // the handler failed permanently
	Message string    // the last error
	Subrefs []string  // ids of sub-handlers, of all levels
}

// DiffBaseStorage stores the diff base: the last-handled essence of an object, with which the operator compares the current
// essence. It must be safe for concurrent use. After an error, the operator handles the object again after the next delay
// of [QueueingSettings].ErrorDelays. Package [github.com/kopf-dev/kopf/sdk/kopf/storage] has the built-in storages. See
// [Storages].
//
// [Storages]: https://github.com/kopf-dev/kopf/blob/main/docs/state-on-objects.md#storages
type DiffBaseStorage interface {
	// Essence returns the part of the object whose changes count as updates. The argument is the object without system
	// fields and without the status, except status fields that handlers name. Essence may modify the argument.
	Essence(body *Object, essence map[string]any) map[string]any

	// Fetch returns the last-handled essence; nil if the object was never handled.
	Fetch(ctx context.Context, body *Object) (map[string]any, error)

	// Store stores an essence as the last-handled essence. It must not modify the essence.
	Store(ctx context.Context, body *Object, essence map[string]any, patch *Patch) error
}
