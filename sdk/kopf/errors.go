package kopf

import (
	"errors"
	"fmt"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/daemons"
	"github.com/kopf-dev/kopf/sdk/internal/engine"
	"github.com/kopf-dev/kopf/sdk/internal/engine/reviews"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
)

// PermanentError is an error that retries cannot fix: the handler has failed permanently, and is called again only for
// the next change. It may be wrapped; the outermost PermanentError or [TemporaryError] in a chain decides. See [Errors].
//
// [Errors]: https://github.com/kopf-dev/kopf/blob/main/docs/errors-and-retries.md
type PermanentError struct{ Err error }

// Permanentf returns a [PermanentError], as a value and not as a pointer. It formats as [fmt.Errorf] does, including %w.
func Permanentf(format string, args ...any) error {
	return PermanentError{fmt.Errorf(format, args...)}
}

// Error returns the message of the wrapped error.
func (e PermanentError) Error() string { return message(e.Err) }

// Unwrap returns the wrapped error.
func (e PermanentError) Unwrap() error { return e.Err }

// TemporaryError is an error after which the handler is called again, after Delay. A Delay of zero means the default of
// 60s; a negative Delay means at once. The [ErrorsMode] does not apply to it, but [Attempts] and [TotalTimeout] do. It may
// be wrapped; the outermost [PermanentError] or TemporaryError in a chain decides. See [Errors].
//
// [Errors]: https://github.com/kopf-dev/kopf/blob/main/docs/errors-and-retries.md
type TemporaryError struct {
	Err   error
	Delay time.Duration
}

// Temporaryf returns a [TemporaryError], as a value and not as a pointer, after which the handler is called again when
// the delay is over; a delay of zero or less means at once. It formats as [fmt.Errorf] does, including %w.
func Temporaryf(delay time.Duration, format string, args ...any) error {
	if delay <= 0 {
		delay = -1
	}
	return TemporaryError{fmt.Errorf(format, args...), delay}
}

// Error returns the message of the wrapped error.
func (e TemporaryError) Error() string { return message(e.Err) }

// Unwrap returns the wrapped error.
func (e TemporaryError) Unwrap() error { return e.Err }

var (
	// ErrTimeout is wrapped by the error of a handler that exceeded its [TotalTimeout]. It is also the
	// cause of the cancellation of the handler's context: see [context.Cause].
	ErrTimeout = handlers.ErrTimeout
	// ErrAttemptTimeout is wrapped by the error of a call that exceeded its [AttemptTimeout]. It is also the
	// cause of the cancellation of the call's context.
	ErrAttemptTimeout = handlers.ErrAttemptTimeout
	// ErrAttempts is wrapped by the error of a handler that was called as often as [Attempts] allow.
	ErrAttempts = handlers.ErrAttempts
	// ErrRegistration is wrapped by the error of [Operator.Run] for invalid handler registrations, and by the error
	// of a handler whose sub-handlers are invalid.
	ErrRegistration = errors.New("invalid handler registrations")
	// ErrNoWayIn is wrapped by the error of [Operator.Run] if admission handlers are registered but the API server
	// cannot call them, because [AdmissionSettings].Server is nil.
	ErrNoWayIn = reviews.ErrNoWayIn
	// ErrLogin is wrapped by the error of [Operator.Run] if there are no credentials, or if the cluster rejects all of
	// them.
	ErrLogin = engine.ErrLogin
)

// engineError converts the error of a handler for the engine, which does not know the types of this package. It keeps the
// message and the chain. The outermost error with a known type determines the kind.
func engineError(err error) error {
	for e := range handlers.ErrorChain(err) {
		switch e := e.(type) { //nolint:errorlint // this is a walk over the chain
		case PermanentError, *PermanentError:
			return handlers.AsPermanent(err)
		case AdmissionError:
			return handlers.AsDenial(err, e.Code)
		case *AdmissionError:
			return handlers.AsDenial(err, e.Code)
		case *waitError:
			return handlers.AsWaiting(err, e.limit)
		case TemporaryError:
			return handlers.AsTemporary(err, e.Delay)
		case *TemporaryError:
			return handlers.AsTemporary(err, e.Delay)
		case StopReason:
			return daemons.AsStopped(err, daemons.Reason(e))
		}
		if handlers.IsKnownError(e) {
			return err
		}
	}
	return err
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
