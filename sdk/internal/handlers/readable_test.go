package handlers

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

type pointerError struct{ text string }

func (e *pointerError) Error() string { return e.text }

type panickingError struct{}

func (panickingError) Error() string { panic("in Error") }

type panickingUnwrap struct{ panickingError }

func (panickingUnwrap) Unwrap() error { panic("in Unwrap") }

type panickingIs struct{}

func (panickingIs) Error() string { return "text" }
func (panickingIs) Is(error) bool { panic("in Is") }

func TestReadable_ErrorsThatPanic(t *testing.T) {
	for want, err := range map[string]error{
		"the handler returned a nil *handlers.pointerError as its error; return a plain nil": (*pointerError)(nil),
		"the error of type handlers.panickingError panics when it is read: in Error":         panickingError{},
		"the error of type handlers.panickingUnwrap panics when it is read: in Error":        panickingUnwrap{},
		"the error of type handlers.panickingIs panics when it is read: in Is":               panickingIs{},
		"the error of type *handlers.permanentError panics when it is read: in Error":        AsPermanent(panickingError{}),
	} {
		readable := Readable(err)
		if got := readable.Error(); !strings.HasPrefix(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
		out, line := Decide(readable, nil, Limits{}, 0, 0, "Handler 'fn'")
		if out.Err == nil || out.Final != strings.Contains(want, "permanent") || !strings.Contains(line.Message, want) {
			t.Errorf("%s: %+v, %+v", want, out, line)
		}
	}
}

func TestReadable_OthersStay(t *testing.T) {
	for _, err := range []error{nil, errors.New(""), fmt.Errorf("x: %w", errors.Join(errors.New("a"), AsTemporary(errors.New("b"), 1)))} {
		if got := Readable(err); got != err { //nolint:errorlint // the very one
			t.Errorf("got %v, want %v", got, err)
		}
	}
}
