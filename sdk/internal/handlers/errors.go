package handlers

import (
	"errors"
	"fmt"
	"iter"
	"time"
)

// Permanent is an error after which trying again is useless, whatever the errors mode: see
// [AsPermanent].
type Permanent interface {
	error
	KopfPermanent()
}

// Temporary is an error after which the handler is to be tried again, whatever the
// errors mode: see [AsTemporary].
type Temporary interface {
	error

	// KopfDelay is the time to the next attempt. A delay that is not given is
	// [DefaultBackoff]; a negative one is none at all.
	KopfDelay() (delay time.Duration, given bool)
}

// AsPermanent makes an error, which has the text and the chain of the other, a permanent one.
func AsPermanent(err error) error { return &permanentError{err} }

// AsTemporary makes an error, which has the text and the chain of the other, a temporary one.
func AsTemporary(err error, delay time.Duration) error { return &temporaryError{err, delay} }

type permanentError struct{ error }

func (e *permanentError) Unwrap() error  { return e.error }
func (e *permanentError) KopfPermanent() {}

type temporaryError struct {
	error
	delay time.Duration
}

func (e *temporaryError) Unwrap() error                    { return e.error }
func (e *temporaryError) KopfDelay() (time.Duration, bool) { return e.delay, true }

// The limits of attempts, as found in the errors of handlers that have met them.
var (
	// ErrTimeout is in the error of a handler that took, or would take, too long.
	ErrTimeout = errors.New("handler timeout")
	// ErrRetries is in the error of a handler that was tried too often.
	ErrRetries = errors.New("handler retries exhausted")
)

// ChildrenRetry is the error of a handler whose sub-handlers are not all done. It is no
// failure: the handler is called again after the delay.
type ChildrenRetry struct {
	Delay *time.Duration // until the first of the sub-handlers is due; nil is none
}

// Error implements the error interface.
func (*ChildrenRetry) Error() string { return "some sub-handlers are not done yet" }

// Panic is the error of a handler that has panicked: an arbitrary error.
type PanicError struct {
	Value any
	Stack []byte
}

// Error implements the error interface. The stack is left to the log.
func (p *PanicError) Error() string { return fmt.Sprintf("panic: %v", p.Value) }

// Unwrap gives the error that the handler panicked with, if it was one: not to be
// taken for an error that the handler returned on purpose, it is hidden from the
// decision, yet shown to errors.Is and errors.As.
func (p *PanicError) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// limitError is the error of a handler that has met one of its limits.
type limitError struct {
	message string
	limit   error // ErrTimeout or ErrRetries
	cause   error // of the last attempt; nil if it was not made
}

func (e *limitError) Error() string { return e.message }

func (e *limitError) Unwrap() []error {
	if e.cause == nil {
		return []error{e.limit}
	}
	return []error{e.limit, e.cause}
}

// KopfPermanent implements [Permanent], for handlers that return another's error.
func (*limitError) KopfPermanent() {}

// Kind is a class of errors, in the words of the inspector.
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
)

// KindOf tells what kind of error a handler has ended with; empty for nil.
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
	case *limitError:
		if errors.Is(e.limit, ErrTimeout) {
			return KindTimeout
		}
		return KindRetries
	case Temporary:
		return KindTemporary
	default:
		return KindPermanent
	}
}

// classify finds the outermost error of a kind known here: a handler that wraps a
// temporary error into a permanent one means the latter. It returns nil if there is none.
func classify(err error) error {
	for e := range ErrorChain(err) {
		if IsKnownError(e) {
			return e
		}
	}
	return nil
}

// Known tells whether an error by itself, whatever it wraps, is of a kind known here.
func IsKnownError(err error) bool {
	switch err.(type) { //nolint:errorlint // what it wraps is of no interest
	case *ChildrenRetry, *PanicError, Temporary, Permanent:
		return true
	}
	return false
}

// Chain returns an error and all that it wraps, the outermost first.
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
