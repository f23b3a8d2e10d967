// Package fault has the errors of package devcluster, which re-exports them.
package fault

import "errors"

// The kinds of errors, for [errors.Is].
var (
	ErrNoToolchain    = errors.New("no Go toolchain")
	ErrBuild          = errors.New("the control plane does not build")
	ErrNotFound       = errors.New("not found")
	ErrExists         = errors.New("already exists")
	ErrInUse          = errors.New("in use")
	ErrNotDevelopment = errors.New("not a development cluster")
	ErrUnreachable    = errors.New("unreachable")
	ErrKubeconfig     = errors.New("bad kubeconfig")
	ErrStart          = errors.New("the control plane does not start")
	ErrInvalid        = errors.New("invalid option")
	ErrNoEngine       = errors.New("no usable Docker engine")
	ErrEngine         = errors.New("the Docker engine failed")
	ErrImage          = errors.New("image not available")
	ErrPortTaken      = errors.New("port taken")
	ErrDiskFull       = errors.New("disk full")
)

// Error is an error for a user: what failed, why, and what to do next.
type Error struct {
	// Kind is one of the kinds of this package.
	Kind error
	// Message says what failed, and where.
	Message string
	// Cause is the underlying error, if any.
	Cause error
	// Next is the user's next step, as an imperative without a full stop.
	Next string
}

// Error returns the message, the cause and the next step on one line.
func (e *Error) Error() string {
	s := e.Message
	if e.Cause != nil {
		s += ": " + e.Cause.Error()
	}
	if e.Next != "" {
		s += "; " + e.Next
	}
	return s
}

// Unwrap returns the kind and the cause.
func (e *Error) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Cause}
}
