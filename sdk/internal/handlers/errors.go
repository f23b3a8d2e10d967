package handlers

import (
	"errors"
	"iter"
	"time"
)

// Permanent is an error after which retries are useless, whatever the errors mode: see
// [AsPermanent].
type Permanent interface {
	error
	KopfPermanent()
}

// Temporary is an error after which the handler is retried, whatever the errors mode: see
// [AsTemporary].
type Temporary interface {
	error

	// KopfDelay returns the time until the next attempt. If it is not given, that is
	// [DefaultBackoff], or the backoff of the handler for [AsRetried]; if it is negative, the next attempt is not delayed.
	KopfDelay() (delay time.Duration, given bool)
}

// Denial is an error by which an admission handler denies a request on purpose: see [AsDenial].
type Denial interface {
	Permanent

	// KopfCode returns the HTTP status of the response; 0 if it is not given.
	KopfCode() int
}

// Waiting is an error of a reconcile handler that cannot get further yet: see [AsWaiting].
type Waiting interface {
	error

	// KopfWait returns the time after which the handler is called at the latest; 0 if only a change calls it again.
	KopfWait() time.Duration
}

// AsWaiting marks an error as a wait, which is no failure. Its text and its chain stay the same.
func AsWaiting(err error, limit time.Duration) error { return &waitingError{err, limit} }

type waitingError struct {
	error
	limit time.Duration
}

func (e *waitingError) Unwrap() error           { return e.error }
func (e *waitingError) KopfWait() time.Duration { return e.limit }

// AsDenial marks an error as a denial. Its text and its chain stay the same.
func AsDenial(err error, code int) error { return &denial{err, code} }

type denial struct {
	error
	code int
}

func (e *denial) Unwrap() error  { return e.error }
func (e *denial) KopfPermanent() {}
func (e *denial) KopfCode() int  { return e.code }

// AsPermanent marks an error as permanent. Its text and its chain stay the same.
func AsPermanent(err error) error { return &permanentError{err} }

// AsTemporary marks an error as temporary. Its text and its chain stay the same. A zero delay is
// not given: see [Temporary].
func AsTemporary(err error, delay time.Duration) error { return &temporaryError{err, delay} }

// AsRetried marks an error as temporary, with the handler's backoff as the delay. Its text and its chain stay the same.
func AsRetried(err error) error { return &retriedError{err} }

type permanentError struct{ error }

func (e *permanentError) Unwrap() error  { return e.error }
func (e *permanentError) KopfPermanent() {}

type temporaryError struct {
	error
	delay time.Duration
}

func (e *temporaryError) Unwrap() error                    { return e.error }
func (e *temporaryError) KopfDelay() (time.Duration, bool) { return e.delay, e.delay != 0 }

type retriedError struct{ error }

func (e *retriedError) Unwrap() error                    { return e.error }
func (e *retriedError) KopfDelay() (time.Duration, bool) { return 0, false }

// The limits of attempts, for [errors.Is].
var (
	// ErrTimeout is wrapped by the error of a handler that took, or would take, too long.
	ErrTimeout = errors.New("handler timeout")
	// ErrAttemptTimeout is wrapped by the error of a call that took too long. The handler is called again.
	ErrAttemptTimeout = errors.New("attempt timeout")
	// ErrAttempts is wrapped by the error of a handler that was called too often.
	ErrAttempts = errors.New("handler retries exhausted")
)

// ErrStepUnsure is wrapped by the error of a step that must happen at most once, if it was started and has no recorded result.
var ErrStepUnsure = errors.New("the call has started and perhaps happened; it is not repeated")

// ChildrenRetry is the error of a handler whose sub-handlers are not all done. It is not a
// failure: the handler is called again after the delay.
type ChildrenRetry struct {
	Delay *time.Duration // delay until the first sub-handler is due; nil means none
}

// Error implements the error interface.
func (*ChildrenRetry) Error() string { return "some sub-handlers are not done yet" }

// limitError is the error of a handler that has reached one of its limits.
type limitError struct {
	message string
	limit   error // ErrTimeout or ErrAttempts
	cause   error // error of the last attempt; nil if there was no attempt
}

func (e *limitError) Error() string { return e.message }

func (e *limitError) Unwrap() []error {
	if e.cause == nil {
		return []error{e.limit}
	}
	return []error{e.limit, e.cause}
}

// KopfPermanent implements [Permanent], for handlers that return the error of another handler.
func (*limitError) KopfPermanent() {}

// ErrorKind is a class of errors, as the inspector names it.
type ErrorKind string

// The kinds of errors.
const (
	KindTemporary ErrorKind = "temporary"
	KindPermanent ErrorKind = "permanent"
	KindArbitrary ErrorKind = "arbitrary"
	KindTimeout   ErrorKind = "timeout"
	KindRetries   ErrorKind = "retries"
	KindPanic     ErrorKind = "panic"
	KindChildren  ErrorKind = "children"
	KindAdmission ErrorKind = "admission"
	KindWaiting   ErrorKind = "waiting"
)

// ErrorKindOf returns the kind of a handler's error; empty for nil.
func ErrorKindOf(err error) ErrorKind {
	switch e := classify(err).(type) { //nolint:errorlint // classify has found the one in the chain
	case nil:
		if err == nil {
			return ""
		}
		return KindArbitrary
	case *ChildrenRetry:
		return KindChildren
	case *PanicError:
		return KindPanic
	case Waiting:
		return KindWaiting
	case *limitError:
		if errors.Is(e.limit, ErrTimeout) {
			return KindTimeout
		}
		return KindRetries
	case Temporary:
		return KindTemporary
	case Denial:
		return KindAdmission
	default:
		return KindPermanent
	}
}

// classify returns the outermost error of a known kind, or nil. A handler that wraps a temporary
// error into a permanent one means the latter.
func classify(err error) error {
	for e := range ErrorChain(err) {
		if IsKnownError(e) {
			return e
		}
	}
	return nil
}

// IsKnownError reports whether an error itself, rather than a wrapped error, is of a known kind.
func IsKnownError(err error) bool {
	switch err.(type) { //nolint:errorlint // what it wraps is of no interest
	case *ChildrenRetry, *PanicError, Waiting, Temporary, Permanent:
		return true
	}
	return false
}

// ErrorChain returns an error and all errors that it wraps, the outermost first.
func ErrorChain(err error) iter.Seq[error] {
	return func(yield func(error) bool) { walk(err, yield) }
}

func walk(err error, yield func(error) bool) bool {
	for err != nil {
		if !yield(err) {
			return false
		}
		switch wrapper := err.(type) { //nolint:errorlint // this is the walk over the chain
		case interface{ Unwrap() error }:
			err = wrapper.Unwrap()
		case interface{ Unwrap() []error }:
			for _, inner := range wrapper.Unwrap() {
				if !walk(inner, yield) {
					return false
				}
			}
			return true
		default:
			return true
		}
	}
	return true
}
