package apply

import (
	"fmt"
	"strings"
)

// SyntaxError reports an invalid manifest.
type SyntaxError struct {
	File string
	// Line is the line in the file, counted from 1.
	Line int
	// Message describes the problem.
	Message string
}

// Error returns "file:line: message", which editors and terminals turn into a link.
func (e *SyntaxError) Error() string { return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Message) }

// PathError reports a path that cannot be read as a manifest or as a folder of manifests.
type PathError struct {
	Path string
	Err  error
}

// Error returns "read manifests: path: reason".
func (e *PathError) Error() string { return fmt.Sprintf("read manifests: %s: %v", e.Path, e.Err) }

// Unwrap returns the reason.
func (e *PathError) Unwrap() error { return e.Err }

// ObjectError reports an object that the server rejected.
type ObjectError struct {
	File string
	Line int
	// Object names the object, such as "Pod web in default".
	Object string
	Err    error
}

// Error returns "file:line: object: reason".
func (e *ObjectError) Error() string {
	return fmt.Sprintf("%s:%d: %s: %s", e.File, e.Line, e.Object, strings.TrimSpace(e.Err.Error()))
}

// Unwrap returns the server's answer.
func (e *ObjectError) Unwrap() error { return e.Err }

func (m Manifest) error(err error) error {
	s := m.Object.GetKind() + " " + m.Object.GetName()
	if ns := m.Object.GetNamespace(); ns != "" {
		s += " in " + ns
	}
	return &ObjectError{File: m.File, Line: m.Line, Object: s, Err: m.withoutSecrets(err)}
}
