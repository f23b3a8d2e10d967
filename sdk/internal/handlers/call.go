package handlers

import (
	"context"
	"log/slog"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/patch"
)

// Call is one call of a handler. Package kopf converts it to the handler's request.
type Call struct {
	Cause   *Cause
	Handler *Handler

	Patch    *patch.Patch // collects changes of the object
	Memo     any          // memo of the object, or of the operator for activities
	Logger   *slog.Logger
	Recorder any // posts Kubernetes events about the object

	Retry   int           // number of earlier attempts
	Started time.Time     // time of the first attempt
	Runtime time.Duration // time since the first attempt

	// Sub receives the sub-handlers that the handler adds; nil for families without them.
	Sub *Subregistry

	// ExecuteSubs attempts the sub-handlers that are due. It returns an error if some are not done
	// yet. It is nil if Sub is.
	ExecuteSubs func(ctx context.Context) error

	// Warn adds warnings to the response of a review; nil for other families.
	Warn func([]string)

	// SetCondition sets a condition of the object; nil for families without an object in the cluster.
	SetCondition func(Condition) error

	// Extra is specific to the family: its type is agreed between the engine and package kopf.
	Extra any
}

// StepCall is a step of a handler.
type StepCall struct {
	Name string
	Do   func(context.Context) ([]byte, error)

	// Once records the start before the call, which then happens at most once. A temporary or permanent error of Do means that the call
	// has had no effect; after any other error, the step fails with [ErrStepUnsure].
	Once bool
}

// Keyed is the type of [Call.Extra] for change handlers.
type Keyed interface {
	// Turn returns the part of idempotency keys that differs between the handlings of an object. Started is the start of the call's
	// handler: see [Call]. Several goroutines may call it while the handler runs.
	Turn(started time.Time) string

	// Step calls a function, records the returned JSON on the object, and returns it. It returns a recorded result without a call. Only
	// one step of a handler runs at a time. Started is the start of the call's handler.
	Step(ctx context.Context, started time.Time, step StepCall) ([]byte, error)

	// Undone returns the recorded result of a step that a deletion handler undoes; nil if there is none.
	Undone(step StepRef) []byte
}
