package redact

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
)

// minLength is the least number of bytes of a value that is looked for in texts: shorter ones are in too many
// words.
const minLength = 4

// Text returns a text in which the hidden values of the object are replaced, and those of the bodies of requests.
// It finds values as they are, in quotes, and in base64, if they have at least 4 bytes.
func (s *Secrets) Text(text string, bodies ...any) string {
	if s == nil || len(text) < minLength {
		return text
	}
	s.once.Do(func() {
		if tree, err := (&object.Object{Raw: s.raw}).Tree(); err == nil {
			s.known = s.valuesIn(nil, tree, nil)
		}
	})
	values := s.known
	for _, body := range bodies {
		values = s.valuesInBody(body, slices.Clip(values))
	}
	// The longest first, as they may contain others.
	values = slices.Clone(values)
	slices.SortFunc(values, func(a, b string) int { return len(b) - len(a) })
	for _, value := range slices.Compact(values) {
		text = strings.ReplaceAll(text, value, Mark)
	}
	return text
}

// Error returns an error whose text is that of [Secrets.Text]. It wraps the given one.
func (s *Secrets) Error(err error, bodies ...any) error {
	if s == nil || err == nil {
		return err
	}
	before := err.Error()
	if text := s.Text(before, bodies...); text != before {
		return &redactedError{text: text, err: err}
	}
	return err
}

// redactedError is an error with another text.
type redactedError struct {
	text string
	err  error
}

// Error implements the error interface.
func (e *redactedError) Error() string { return e.text }

// Unwrap returns the error with the original text.
func (e *redactedError) Unwrap() error { return e.err }

func (s *Secrets) valuesInBody(body any, found []string) []string {
	if ops, ok := body.([]patch.Op); ok {
		for _, op := range ops {
			value := plain(op.Value)
			for _, path := range s.at(op.Path) {
				found = s.valuesIn(path, value, found)
			}
		}
		return found
	}
	return s.valuesIn(nil, plain(body), found)
}

// valuesIn appends the hidden values in a field.
func (s *Secrets) valuesIn(path object.Path, value any, found []string) []string {
	if s.covers(path) {
		return spellings(value, found)
	}
	switch v := value.(type) {
	case map[string]any:
		for key, child := range v {
			found = s.valuesIn(path.Child(key), child, found)
		}
	case []any:
		for _, item := range v {
			found = s.valuesIn(path, item, found)
		}
	case string:
		if nested := objectIn(v); nested != nil {
			found = s.valuesIn(nil, nested, found)
		}
	}
	return found
}

// spellings appends how the values within a hidden one may be written.
func spellings(value any, found []string) []string {
	switch v := value.(type) {
	case nil, bool:
		return found
	case map[string]any:
		for _, child := range v {
			found = spellings(child, found)
		}
		return found
	case []any:
		for _, item := range v {
			found = spellings(item, found)
		}
		return found
	case string:
		found = appendSpellings(found, v)
		found = append(found, base64.StdEncoding.EncodeToString([]byte(v)))
		if decoded, err := base64.StdEncoding.DecodeString(v); err == nil && utf8.Valid(decoded) {
			found = appendSpellings(found, string(decoded))
		}
	case float64:
		found = append(found, fmt.Sprint(v), strconv.FormatFloat(v, 'f', -1, 64))
	default:
		found = append(found, fmt.Sprint(v))
	}
	return slices.DeleteFunc(found, func(s string) bool { return len(s) < minLength })
}

// appendSpellings appends a text, its lines, and as it is in quotes.
func appendSpellings(found []string, text string) []string {
	found = append(found, text, strings.TrimSpace(text))
	if quoted := strconv.Quote(text); len(quoted) > len(text)+2 {
		found = append(found, quoted[1:len(quoted)-1])
	}
	if strings.Contains(text, "\n") {
		for line := range strings.Lines(text) {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}
