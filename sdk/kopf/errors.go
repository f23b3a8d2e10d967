package kopf

import (
	"errors"
	"fmt"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/daemons"
	"github.com/kopf-dev/kopf/sdk/internal/engine"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
)

// PermanentError says that trying again is useless: the handler has failed for good
// in this handling cycle, and is called again only for the next change. It is found
// through wrapping. See the chapter "Error handling" of Kopf's documentation.
type PermanentError struct{ Err error }

// Permanentf returns a [PermanentError], formatted as [fmt.Errorf] does, %w included.
func Permanentf(format string, args ...any) error {
	return PermanentError{fmt.Errorf(format, args...)}
}

// Error returns the message of the error inside.
func (e PermanentError) Error() string { return message(e.Err) }

// Unwrap returns the error inside.
func (e PermanentError) Unwrap() error { return e.Err }

// TemporaryError says to try again after a delay; at once if it is zero. It is found
// through wrapping, and is temporary whatever the [ErrorsMode]; the limits of [Retries] and
// [Timeout] count. Of several such errors in a chain, permanent or temporary, the outermost
// decides. See the chapter "Error handling" of Kopf's documentation.
type TemporaryError struct {
	Err   error
	Delay time.Duration
}

// Temporaryf returns a [TemporaryError] with the delay, formatted as [fmt.Errorf] does,
// %w included.
func Temporaryf(delay time.Duration, format string, args ...any) error {
	return TemporaryError{fmt.Errorf(format, args...), delay}
}

// Error returns the message of the error inside.
func (e TemporaryError) Error() string { return message(e.Err) }

// Unwrap returns the error inside.
func (e TemporaryError) Unwrap() error { return e.Err }

var (
	// ErrTimeout is in the error of a handler that took longer than its [Timeout],
	// and the cause of the end of its context: see [context.Cause].
	ErrTimeout = handlers.ErrTimeout
	// ErrRetries is in the error of a handler that was tried as often as its
	// [Retries] allow.
	ErrRetries = handlers.ErrRetries
	// ErrRegistration is in the error of [Operator.Run] when there are mistakes
	// in the registrations.
	ErrRegistration = errors.New("mistakes in the registration of handlers")
	// ErrLogin is in the error of [Operator.Run] when there are no credentials, or none
	// that the cluster accepts.
	ErrLogin = engine.ErrLogin
)

// engineError puts the error of a handler into the terms of the engine, which does not know
// this package. Its text and its chain stay; the outermost error of a known kind decides.
func engineError(err error) error {
	for e := range handlers.ErrorChain(err) {
		switch e := e.(type) { //nolint:errorlint // this is a walk over the chain
		case PermanentError, *PermanentError:
			return handlers.AsPermanent(err)
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
