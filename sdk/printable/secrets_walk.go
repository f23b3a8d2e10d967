package printable

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"slices"
	"strings"
)

// walk copies values, and hides some of them.
type walk struct {
	fields [][]string
	hide   func(any) any       // returns the replacement of a hidden value
	text   func(string) string // hides copies of hidden values; nil keeps all texts
}

// isStatus reports whether a path is the status or in it. Operators copy parts of objects there, so that hidden fields may
// begin anywhere in it, as in the texts of annotations.
func isStatus(path []string) bool { return len(path) > 0 && path[0] == "status" }

// value copies the value at a path. If it is loose, hidden fields may begin at each part of the path.
func (w *walk) value(path []string, loose bool, value any) any {
	if w.covers(path, loose) {
		return w.hide(value)
	}
	if w.text != nil && isManagedFields(path, loose) {
		value = withoutItems(value)
	}
	switch v := value.(type) {
	case map[string]any:
		if v == nil {
			return value
		}
		out := make(map[string]any, len(v))
		for key, child := range v {
			deeper := append(path[:len(path):len(path)], key)
			out[key] = w.value(deeper, loose || isStatus(deeper), child)
		}
		return out
	case []any:
		if v == nil {
			return value
		}
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = w.value(path, loose, item)
		}
		return out
	case string:
		return w.string(v, loose || hasPrefix(path, annotations))
	}
	return value
}

var (
	annotations = []string{"metadata", "annotations"}

	// managedFields is the path of the record of which manager set which field. The API server names the items of
	// lists by their values there, as "v:VALUE" or "k:KEYS", also with the field names of other API versions.
	managedFields = []string{"metadata", "managedFields"}
)

func isManagedFields(path []string, loose bool) bool {
	return hasPrefix(path, managedFields) || loose && hasSuffix(path, managedFields)
}

// covers reports whether a field is hidden: itself, or a field that it is in.
func (w *walk) covers(path []string, loose bool) bool {
	return slices.ContainsFunc(w.fields, func(field []string) bool {
		if !loose {
			return hasPrefix(path, field)
		}
		for i := range path {
			if hasPrefix(path[i:], field) {
				return true
			}
		}
		return false
	})
}

func hasPrefix(path, prefix []string) bool {
	return len(path) >= len(prefix) && slices.Equal(path[:len(prefix)], prefix)
}

func hasSuffix(path, suffix []string) bool {
	return len(path) >= len(suffix) && slices.Equal(path[len(path)-len(suffix):], suffix)
}

// string hides values in a string. In JSON, hidden fields may begin at any level: the annotations of operators and of
// kubectl contain previous versions of objects, some of them within other maps. If copies is set, string also searches
// for the hidden values, and hides the whole string if it looks like a broken part of such JSON.
func (w *walk) string(text string, copies bool) string {
	nested, ok := jsonIn(text)
	switch {
	case ok:
		shown := w.value(nil, true, nested)
		if !reflect.DeepEqual(shown, nested) || w.names(text) { // a name may be repeated
			text = encode(shown)
		}
	case copies && w.text != nil && w.names(text):
		return Redacted
	}
	if copies && w.text != nil {
		text = w.text(text)
	}
	return text
}

// jsonIn returns the object, the list or the text that is JSON in a text.
func jsonIn(text string) (value any, ok bool) {
	if trimmed := strings.TrimSpace(text); trimmed == "" || !strings.Contains(`{["`, trimmed[:1]) {
		return nil, false
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if decoder.Decode(&value) != nil {
		return nil, false
	}
	_, err := decoder.Token()
	return value, errors.Is(err, io.EOF)
}

// encode returns a value as JSON.
func encode(value any) string {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(value) != nil {
		return Redacted
	}
	return strings.TrimSuffix(text.String(), "\n")
}

// names reports whether a text has the name of a hidden field as a key in JSON, whose quotes may be escaped.
func (w *walk) names(text string) bool {
	for _, field := range w.fields {
		if len(field) == 0 {
			continue
		}
		name := field[len(field)-1]
		for rest := text; ; {
			before, after, found := strings.Cut(rest, name)
			if !found {
				break
			}
			trimmed := strings.TrimLeft(after, `\`)
			if strings.HasSuffix(before, `"`) && strings.HasPrefix(trimmed, `"`) && strings.HasPrefix(strings.TrimLeft(trimmed[1:], " \t\r\n"), ":") {
				return true
			}
			rest = after
		}
	}
	return false
}

// withoutItems returns a copy of managed fields that names fields ("f:NAME") and has one mark in place of all items
// of a list. The argument value is the list of managers or a part of it.
func withoutItems(value any) any {
	switch v := value.(type) {
	case []any:
		out := make([]any, len(v))
		for i, manager := range v {
			out[i] = withoutItems(manager)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, child := range v {
			if strings.Contains(key, ":") && !strings.HasPrefix(key, "f:") {
				out[Redacted] = map[string]any{}
			} else {
				out[key] = withoutItems(child)
			}
		}
		return out
	}
	return value
}
