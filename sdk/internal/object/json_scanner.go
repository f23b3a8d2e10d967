package object

import (
	"bytes"
	"iter"
)

// Members goes over the keys of a JSON object in the order of its text, each with the
// text of its value. Of anything else than an object, and of a text that is broken,
// it yields what it can: it is meant for texts that were decoded before.
func Members(text []byte) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		s := newScanner(text)
		if !s.enter('{') {
			return
		}
		for {
			key, ok := s.key()
			if !ok {
				return
			}
			if !yield(key, s.value()) {
				return
			}
		}
	}
}

// scanner steps through a JSON text without decoding what it steps over.
type scanner struct {
	text []byte
	pos  int
}

func newScanner(text []byte) scanner {
	return scanner{text: text}
}

func (s *scanner) skipSpace() {
	for s.pos < len(s.text) {
		switch s.text[s.pos] {
		case ' ', '\t', '\r', '\n':
			s.pos++
		default:
			return
		}
	}
}

// peek returns the next byte that means something, or 0 at the end.
func (s *scanner) peek() byte {
	s.skipSpace()
	if s.pos >= len(s.text) {
		return 0
	}
	return s.text[s.pos]
}

func (s *scanner) enter(open byte) bool {
	if s.peek() != open {
		s.pos = len(s.text)
		return false
	}
	s.pos++
	return true
}

// key reads the next key of an object with its colon, and the comma before it.
func (s *scanner) key() (string, bool) {
	if s.peek() == ',' {
		s.pos++
	}
	if s.peek() != '"' {
		return "", false
	}
	raw := s.string()
	if raw == nil || s.peek() != ':' {
		return "", false
	}
	s.pos++
	if key, ok := usualKeys[string(raw[1:len(raw)-1])]; ok {
		return key, true
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1]), true
	}
	key, err := unquote(raw)
	return key, err == nil
}

// item returns the text of the next item of a list, or nil if there is none.
func (s *scanner) item() []byte {
	switch s.peek() {
	case 0, ']':
		return nil
	case ',':
		s.pos++
	}
	return s.value()
}

// value returns the text of the next value.
func (s *scanner) value() []byte {
	switch s.peek() {
	case 0:
		return nil
	case '"':
		return s.string()
	case '{', '[':
		return s.nested()
	}
	start := s.pos
	for s.pos < len(s.text) {
		switch s.text[s.pos] {
		case ',', '}', ']', ' ', '\t', '\r', '\n':
			return s.text[start:s.pos]
		}
		s.pos++
	}
	return s.text[start:s.pos]
}

func (s *scanner) nested() []byte {
	start, depth := s.pos, 0
	for s.pos < len(s.text) {
		switch s.text[s.pos] {
		case '"':
			s.string()
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		s.pos++
		if depth == 0 {
			break
		}
	}
	return s.text[start:s.pos]
}

// string returns the text of a string with its quotes, or nil if it is not closed.
func (s *scanner) string() []byte {
	start := s.pos
	s.pos++
	for s.pos < len(s.text) {
		quote := bytes.IndexByte(s.text[s.pos:], '"')
		if quote < 0 {
			break
		}
		s.pos += quote + 1
		if !escaped(s.text[start+1 : s.pos-1]) {
			return s.text[start:s.pos]
		}
	}
	s.pos = len(s.text)
	return nil
}

// escaped tells if what follows the text is escaped by a backslash at its end.
func escaped(before []byte) bool {
	n := 0
	for i := len(before) - 1; i >= 0 && before[i] == '\\'; i-- {
		n++
	}
	return n%2 == 1
}
