package index

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Entry is a key and one of its values as texts for display.
type Entry struct{ Key, Value string }

// maxText is the maximum length of the texts of an entry, in bytes.
const maxText = 256

// Types implements [Container].
func (x *Index[K, V]) Types() (key, value string) {
	return reflect.TypeFor[K]().String(), reflect.TypeFor[V]().String()
}

// Page implements [Container]. It takes time proportional to the number of keys, or of values if match is not nil, so
// it is meant for display only. User code, such as String methods, runs outside of the lock.
func (x *Index[K, V]) Page(offset, limit int, match func(Entry) bool) (entries []Entry, total int) {
	type named struct {
		key   K
		text  string
		count int
	}
	x.mu.RLock()
	keys := make([]named, 0, len(x.keys))
	for key, first := range x.keys {
		keys = append(keys, named{key: key, count: first.count})
	}
	total = x.values
	x.mu.RUnlock()
	for i := range keys {
		keys[i].text = text(keys[i].key)
	}
	// Sort by the whole texts: truncated ones may be equal.
	slices.SortFunc(keys, func(a, b named) int { return strings.Compare(a.text, b.text) })

	entries = []Entry{}
	if match != nil {
		total = 0
		for _, k := range keys {
			for _, value := range x.Get(k.key) {
				e := Entry{cut(k.text), cut(text(value))}
				if !match(e) {
					continue
				}
				if total++; total > offset && len(entries) < limit {
					entries = append(entries, e)
				}
			}
		}
		return entries, total
	}
	for _, k := range keys {
		if offset >= k.count {
			offset -= k.count
			continue
		}
		if len(entries) >= limit {
			break
		}
		values := x.Get(k.key) // may be fewer than k.count by now
		values = values[min(offset, len(values)):]
		offset = 0
		for _, value := range values[:min(limit-len(entries), len(values))] {
			entries = append(entries, Entry{cut(k.text), cut(text(value))})
		}
	}
	return entries, total
}

// Texts returns the values of an index's map as texts for display, without truncation.
func Texts(values any) []string {
	var texts []string
	for _, value := range reflect.ValueOf(values).Seq2() {
		texts = append(texts, text(value.Interface()))
	}
	return texts
}

// text formats a key or a value. Pointers are only dereferenced by their own methods, because other goroutines may be
// changing the values.
func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case fmt.Stringer, error:
		return fmt.Sprint(v)
	case json.Marshaler:
		return encoded(v)
	}
	switch reflect.ValueOf(v).Kind() {
	case reflect.Pointer, reflect.Func, reflect.Chan, reflect.UnsafePointer:
		return fmt.Sprintf("%T", v)
	default:
		return fmt.Sprintf("%+v", v)
	}
}

// cut truncates a text to maxText and replaces invalid UTF-8.
func cut(s string) string {
	if len(s) <= maxText {
		return strings.ToValidUTF8(s, "\uFFFD")
	}
	return strings.ToValidUTF8(s[:maxText], "") + "…"
}

// encoded returns a value as JSON, or the name of its type if MarshalJSON panics.
func encoded(v json.Marshaler) (s string) {
	defer func() {
		if recover() != nil {
			s = fmt.Sprintf("%T", v)
		}
	}()
	raw, err := v.MarshalJSON()
	if err != nil {
		return err.Error()
	}
	return string(raw)
}
