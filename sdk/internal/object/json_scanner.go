package object

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
)

// errSyntax is matched by the error of a text that is not JSON, or not of the expected shape.
var errSyntax = errors.New("not the JSON of a Kubernetes object")

// syntaxError has the place of the first invalid byte. It matches [io.ErrUnexpectedEOF] if the text ends too early,
// so that a reader of streams reads more, and [errSyntax] otherwise.
type syntaxError struct {
	offset    int // position in bytes
	problem   string
	truncated bool
}

// Error implements error.
func (e *syntaxError) Error() string {
	return fmt.Sprintf("invalid JSON at byte %d: %s", e.offset, e.problem)
}

// Is implements [errors.Is].
func (e *syntaxError) Is(target error) bool {
	if e.truncated {
		return target == io.ErrUnexpectedEOF
	}
	return target == errSyntax
}

// scanner steps over JSON values without decoding them. It checks only enough to find the end of a value, so it
// accepts some invalid texts; decoding them fails later.
//
// After the first failure, the position is the end of the text and methods return zero values, so that callers check
// the error once, at the end.
type scanner struct {
	text []byte
	pos  int

	problem  string // the first one; empty if there is none
	failedAt int
}

func (s *scanner) fail(problem string) {
	if s.problem == "" {
		s.problem, s.failedAt = problem, s.pos
	}
	s.pos = len(s.text)
}

func (s *scanner) err() error {
	if s.problem == "" {
		return nil
	}
	return &syntaxError{offset: s.failedAt, problem: s.problem, truncated: s.failedAt == len(s.text)}
}

// peek skips whitespace and returns the byte after it without consuming it; 0 at the end.
func (s *scanner) peek() byte {
	for s.pos < len(s.text) {
		switch c := s.text[s.pos]; c {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return c
		}
	}
	return 0
}

// enter steps into an object or a list, and reports whether it has members or items.
func (s *scanner) enter(open, end byte) (more bool) {
	if s.peek() != open {
		s.fail("an object or a list is missing")
		return false
	}
	s.pos++
	if s.peek() == end {
		s.pos++
		return false
	}
	return true
}

// after steps over what follows a member or an item, and reports whether there is another.
func (s *scanner) after(end byte) (more bool) {
	switch s.peek() {
	case ',':
		s.pos++
		return true
	case end:
		s.pos++
	default:
		s.fail("a comma or a closing bracket is missing")
	}
	return false
}

// colon steps over the colon between a key and its value.
func (s *scanner) colon() {
	if s.peek() != ':' {
		s.fail("a colon is missing")
		return
	}
	s.pos++
}

// key reads the key of a member and its colon. It returns the text between the quotes.
func (s *scanner) key() []byte {
	if s.peek() != '"' {
		s.fail("a key is missing")
		return nil
	}
	quoted := s.quoted()
	s.colon()
	if s.problem != "" {
		return nil
	}
	return quoted[1 : len(quoted)-1]
}

// value returns the text of the next value.
func (s *scanner) value() []byte {
	switch s.peek() {
	case '"':
		return s.quoted()
	case '{', '[':
		return s.nested()
	}
	start := s.pos
	for s.pos < len(s.text) && !endsWord(s.text[s.pos]) {
		s.pos++
	}
	if s.pos == start {
		s.fail("a value is missing")
	}
	return s.text[start:s.pos]
}

func endsWord(c byte) bool {
	switch c {
	case ',', ':', '}', ']', ' ', '\t', '\n', '\r':
		return true
	}
	return false
}

// nested returns the text of the object or list that begins here.
func (s *scanner) nested() []byte {
	start, depth := s.pos, 0
	for i := start; i < len(s.text); i++ {
		switch s.text[i] {
		case '"':
			s.pos = i
			s.quoted()
			// The next byte shows whether two damaged texts were joined within a string: then every quote after the
			// string opens a string instead of closing it.
			switch i = s.pos - 1; s.peek() {
			case ',', ':', '}', ']', 0:
			default:
				s.fail("a comma or a closing bracket is missing")
				return nil
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				s.pos = i + 1
				return s.text[start:s.pos]
			}
		}
	}
	s.pos = len(s.text)
	s.fail("a bracket is not closed")
	return nil
}

// quoted returns the text of the string that begins here, with its quotes.
func (s *scanner) quoted() []byte {
	start := s.pos
	for end := start + 1; ; {
		length := bytes.IndexByte(s.text[end:], '"')
		if length < 0 {
			s.pos = len(s.text)
			s.fail("a string is not closed")
			return nil
		}
		end += length + 1
		if s.text[end-2] != '\\' || !endsInEscape(s.text[start+1:end-1]) {
			s.pos = end
			return s.text[start:end]
		}
	}
}

// endsInEscape reports whether the text ends with a backslash that escapes what follows.
func endsInEscape(text []byte) bool {
	n := len(text)
	for n > 0 && text[n-1] == '\\' {
		n--
	}
	return (len(text)-n)%2 == 1
}

// members steps over the members of an object.
type members struct {
	scanner
	more       bool
	key, value []byte // key and value of the current member
}

// membersOf starts before the first member. An empty text has none.
func membersOf(text []byte) members {
	m := members{scanner: scanner{text: text}}
	m.more = len(text) > 0 && m.enter('{', '}')
	return m
}

// next steps to the next member; it returns false at the end and at a syntax error.
func (m *members) next() bool {
	if !m.more {
		return false
	}
	m.key, m.value = m.scanner.key(), m.scanner.value()
	m.more = m.after('}')
	return m.problem == ""
}

// Members iterates over the keys of an object in the order of its text, each with the
// text of its value. It ends early at a syntax error.
func Members(text []byte) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		s := scanner{text: text}
		for more := s.enter('{', '}'); more; more = s.after('}') {
			key, value := s.key(), s.value()
			if s.problem != "" || !yield(keyText(key), value) {
				return
			}
		}
	}
}

// Member returns the text of a member of an object; nil if it is absent.
func Member(text []byte, name string) []byte {
	for m := membersOf(text); m.next(); {
		if string(m.key) == name {
			return m.value
		}
	}
	return nil
}

// Items iterates over the texts of the items of a list. It ends early at a syntax error.
func Items(text []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		s := scanner{text: text}
		for more := s.enter('[', ']'); more; more = s.after(']') {
			item := s.value()
			if s.problem != "" || !yield(item) {
				return
			}
		}
	}
}
