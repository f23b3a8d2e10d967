package apply

import (
	"fmt"
	"strings"
)

// SyntaxError is a manifest that cannot be understood.
type SyntaxError struct {
	File string
	// Line is where, counted from 1 in the file.
	Line int
	// Message says what is wrong.
	Message string
}

// Error is in the form that editors and terminals make a link of.
func (e *SyntaxError) Error() string { return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Message) }

// ObjectError is an object that the cluster does not take.
type ObjectError struct {
	File string
	Line int
	// Object is such as "Pod web in default".
	Object string
	Err    error
}

// Error names the object, and where it comes from.
func (e *ObjectError) Error() string {
	return fmt.Sprintf("%s:%d: %s: %s", e.File, e.Line, e.Object, strings.TrimSpace(e.Err.Error()))
}

// Unwrap returns the cluster's answer.
func (e *ObjectError) Unwrap() error { return e.Err }

func (m Manifest) error(err error) error {
	s := m.Object.GetKind() + " " + m.Object.GetName()
	if ns := m.Object.GetNamespace(); ns != "" {
		s += " in " + ns
	}
	return &ObjectError{File: m.File, Line: m.Line, Object: s, Err: err}
}
