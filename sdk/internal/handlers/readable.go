package handlers

import (
	"errors"
	"fmt"
	"reflect"
)

// unreadableError replaces an error whose Error method panics.
type unreadableError struct {
	text string
	err  error // nil if not even its chain can be walked
}

// Error implements the error interface.
func (e *unreadableError) Error() string { return e.text }

// Unwrap returns the error, whose kind counts.
func (e *unreadableError) Unwrap() error { return e.err }

// Readable returns the error of a handler in a form that can be logged and recorded: it replaces an error whose
// methods panic. Otherwise, the attempt could not be recorded, and would be repeated forever.
func Readable(err error) error {
	if err == nil {
		return nil
	}
	panicked := panicOf(func() {
		_ = err.Error()
		examine(err)
	})
	if panicked == nil {
		return err
	}
	text := fmt.Sprintf("the error of type %T panics when it is read: %v; mend its methods", err, panicked)
	for _, e := range chainOf(err) {
		if v := reflect.ValueOf(e); v.Kind() == reflect.Pointer && v.IsNil() {
			text = fmt.Sprintf("the handler returned a nil %T as its error; return a plain nil", e)
		}
	}
	if panicOf(func() { examine(err) }) != nil {
		err = nil
	}
	return &unreadableError{text, err}
}

// examine calls the methods of an error that are called to classify it.
func examine(err error) {
	_ = ErrorKindOf(err)
	_ = errors.Is(err, ErrTimeout)
}

// chainOf returns the errors that an error wraps, as far as they can be walked.
func chainOf(err error) (all []error) {
	_ = panicOf(func() {
		for e := range ErrorChain(err) {
			all = append(all, e)
		}
	})
	return all
}

// panicOf returns the value with which a function panics; nil if it returns.
func panicOf(f func()) (value any) {
	defer func() { value = recover() }()
	f()
	return nil
}
