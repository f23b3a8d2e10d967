// Package fault holds the errors of the dev clusters: what went wrong, why, and what
// to do next, in one sentence. They are re-exported by package devcluster.
package fault

import "errors"

// The kinds of errors, to be recognised with [errors.Is].
var (
	ErrNoToolchain    = errors.New("no Go toolchain")
	ErrBuild          = errors.New("the control plane does not build")
	ErrNotFound       = errors.New("not found")
	ErrExists         = errors.New("exists already")
	ErrInUse          = errors.New("in use")
	ErrNotDevelopment = errors.New("not a development cluster")
	ErrUnreachable    = errors.New("unreachable")
	ErrKubeconfig     = errors.New("bad kubeconfig")
	ErrStart          = errors.New("the control plane does not start")
	ErrInvalid        = errors.New("invalid option")
)

// Error is an error for the eyes of a user.
type Error struct {
	// Kind is one of the sentinels of this package.
	Kind error
	// Message says what failed, and where.
	Message string
	// Cause is what was reported from below, if anything was.
	Cause error
	// Next says what the user can do about it, as an imperative without a full stop.
	Next string
}

// Error puts everything on one line.
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

// Unwrap makes both the kind and the cause recognisable.
func (e *Error) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Cause}
}
