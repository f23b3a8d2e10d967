package printable

import (
	"slices"
	"sort"
	"strings"
	"sync"
)

// Redacted is shown in place of a hidden value.
const Redacted = "[redacted]"

// Secrets hides values of objects: the data of a Secret, and fields that the settings of an operator name. Copies of these
// values are found in annotations, in the status, and in other texts. It is safe for concurrent use.
type Secrets struct {
	fields [][]string
	read   func() []any

	once  sync.Once
	known []string // the spellings of the hidden values, the longest first
}

// FieldsToHide returns the paths of the hidden fields of an object: the given ones and, if it is a Secret, those of its data.
func FieldsToHide(object map[string]any, fields [][]string) [][]string {
	if object["apiVersion"] == "v1" && object["kind"] == "Secret" {
		return append([][]string{{"data"}, {"stringData"}}, fields...)
	}
	return fields
}

// NewSecrets returns a Secrets for fields. A path continues in each item of a list. The function objects returns the objects
// with the values that [Secrets.Text] looks for; it is called once, when first needed, and may be nil.
func NewSecrets(fields [][]string, objects func() []any) *Secrets {
	return &Secrets{fields: fields, read: objects}
}

// Value returns a copy of the value at a path of an object, which is nil for the whole object, without the hidden values in
// it, or the value itself if no field is hidden. In annotations and in the status, it also hides what [Secrets.Text] hides. The keys of maps remain.
func (s *Secrets) Value(path []string, value any, more ...string) any {
	if len(s.fields) == 0 {
		return value
	}
	var values []string // to look for
	w := walk{fields: s.fields, hide: redacted, text: func(text string) string {
		if values == nil {
			values = s.values(more)
		}
		return without(values, text)
	}}
	return w.value(path, isStatus(path), value)
}

// Text returns a text without the hidden values of the objects and without more of them, as [Secrets.Find] returns them.
// Values are found as they are, in quotes and in base64, if they have at least 4 bytes.
func (s *Secrets) Text(text string, more ...string) string {
	if len(text) < minLength {
		return text
	}
	return without(s.values(more), text)
}

func without(values []string, text string) string {
	for _, value := range values {
		text = strings.ReplaceAll(text, value, Redacted)
	}
	return text
}

// values returns the spellings of all values to look for. It is not nil.
func (s *Secrets) values(more []string) []string {
	s.once.Do(func() {
		s.known = []string{}
		if s.read == nil {
			return
		}
		for _, object := range s.read() {
			s.known = append(s.known, s.Find(nil, object)...)
		}
		s.known, s.read = longestFirst(s.known), nil
	})
	if len(more) == 0 {
		return s.known
	}
	return longestFirst(append(slices.Clone(s.known), more...))
}

// Find returns the spellings of the hidden values in the value at a path of an object.
func (s *Secrets) Find(path []string, value any) []string {
	var found []string
	w := walk{fields: s.fields, hide: func(v any) any { found = spellings(v, found); return v }}
	w.value(path, isStatus(path), value)
	return slices.DeleteFunc(found, func(s string) bool { return len(s) < minLength })
}

// longestFirst sorts values, since a longer one may contain others.
func longestFirst(values []string) []string {
	sort.Slice(values, func(i, j int) bool {
		a, b := values[i], values[j]
		return len(a) > len(b) || len(a) == len(b) && a < b
	})
	return slices.Compact(values)
}

// redacted returns marks in place of all values but null. The keys of maps remain.
func redacted(value any) any {
	switch v := value.(type) {
	case nil:
		return nil
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, child := range v {
			out[key] = redacted(child)
		}
		return out
	}
	return Redacted
}
