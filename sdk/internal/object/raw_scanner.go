package object

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// ErrSyntax says that a text is not JSON, or not of the shape it should have.
var ErrSyntax = errors.New("not the JSON of a Kubernetes object")

// scanner walks over JSON text without decoding it. It recognises only what is needed
// to find the end of a value, so a text that it accepts is not necessarily valid: whoever
// decodes it will see. Text that ends too early is io.ErrUnexpectedEOF, which a reader
// of streams takes as a demand for more.
type rawScanner struct {
	data []byte
	pos  int
}

func (s *rawScanner) syntax(what string) error {
	return fmt.Errorf("%w: %s at byte %d", ErrSyntax, what, s.pos)
}

// next skips whitespace and returns the byte after it, without consuming it.
func (s *rawScanner) next() (byte, error) {
	for s.pos < len(s.data) {
		switch c := s.data[s.pos]; c {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return c, nil
		}
	}
	return 0, io.ErrUnexpectedEOF
}

func (s *rawScanner) expect(want byte) error {
	got, err := s.next()
	if err != nil {
		return err
	}
	if got != want {
		return s.syntax(fmt.Sprintf("%q instead of %q", got, want))
	}
	s.pos++
	return nil
}

// enter steps into an object; more reports if it has members.
func (s *rawScanner) enter() (more bool, err error) {
	if err := s.expect('{'); err != nil {
		return false, err
	}
	c, err := s.next()
	if err == nil && c == '}' {
		s.pos++
		return false, nil
	}
	return err == nil, err
}

// member reads the key of a member and stops before its value.
func (s *rawScanner) member() (key []byte, err error) {
	quoted, err := s.text()
	if err != nil {
		return nil, err
	}
	return quoted[1 : len(quoted)-1], s.expect(':')
}

// after steps over what follows a member's value; more reports if another one comes.
func (s *rawScanner) after(end byte) (more bool, err error) {
	c, err := s.next()
	if err != nil {
		return false, err
	}
	switch c {
	case ',':
		s.pos++
		return true, nil
	case end:
		s.pos++
		return false, nil
	}
	return false, s.syntax("no comma between values")
}

// text reads a string with its quotes.
func (s *rawScanner) text() ([]byte, error) {
	if err := s.expect('"'); err != nil {
		return nil, err
	}
	start := s.pos - 1
	for {
		i := bytes.IndexByte(s.data[s.pos:], '"')
		if i < 0 {
			return nil, io.ErrUnexpectedEOF
		}
		end := s.pos + i
		slashes := 0
		for j := end - 1; j >= s.pos && s.data[j] == '\\'; j-- {
			slashes++
		}
		s.pos = end + 1
		if slashes%2 == 0 {
			return s.data[start:s.pos], nil
		}
	}
}

// value reads any value as text.
func (s *rawScanner) value() ([]byte, error) {
	c, err := s.next()
	if err != nil {
		return nil, err
	}
	start := s.pos
	switch c {
	case '"':
		return s.text()
	case '{', '[':
		return s.container()
	case ',', ':', '}', ']':
		return nil, s.syntax("no value")
	}
	for s.pos < len(s.data) {
		switch s.data[s.pos] {
		case ',', '}', ']', ' ', '\t', '\n', '\r':
			return s.data[start:s.pos], nil
		}
		s.pos++
	}
	return nil, io.ErrUnexpectedEOF
}

func (s *rawScanner) container() ([]byte, error) {
	start := s.pos
	depth := 0
	for s.pos < len(s.data) {
		switch s.data[s.pos] {
		case '"':
			if _, err := s.text(); err != nil {
				return nil, err
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
			if depth == 0 {
				s.pos++
				return s.data[start:s.pos], nil
			}
		}
		s.pos++
	}
	return nil, io.ErrUnexpectedEOF
}

// unquote tells the content of a string, without copying it if it has no escapes. Null and
// values of other types are empty.
func unquoteRaw(quoted []byte) []byte {
	if len(quoted) < 2 || quoted[0] != '"' {
		return []byte{}
	}
	inner := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return inner
	}
	var decoded string
	if err := json.Unmarshal(quoted, &decoded); err != nil {
		return inner
	}
	return []byte(decoded)
}
