package index

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Entry is a key and one of its values, for people.
type Entry struct{ Key, Value string }

// maxText is how long the texts of entries may be, in bytes.
const maxText = 256

// Types implements [Container].
func (x *Index[K, V]) Types() (key, value string) {
	return reflect.TypeFor[K]().String(), reflect.TypeFor[V]().String()
}

// Page implements [Container]. It looks at all keys, so it is for people and not for
// handlers. As everywhere, what users may have written runs outside of the lock.
func (x *Index[K, V]) Page(offset, limit int) (entries []Entry, total int) {
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
	// By the whole texts: those that begin alike are not to be mixed up when they are cut.
	slices.SortFunc(keys, func(a, b named) int { return strings.Compare(a.text, b.text) })

	entries = []Entry{}
	for _, k := range keys {
		if offset >= k.count {
			offset -= k.count
			continue
		}
		if len(entries) >= limit {
			break
		}
		values := x.Get(k.key) // there may be fewer by now
		values = values[min(offset, len(values)):]
		offset = 0
		for _, value := range values[:min(limit-len(entries), len(values))] {
			entries = append(entries, Entry{cut(k.text), cut(text(value))})
		}
	}
	return entries, total
}

// text shows a key or a value. What a pointer points to is looked at only by its own
// methods: others might change it meanwhile.
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

// cut makes a text fit for an entry.
func cut(s string) string {
	if len(s) <= maxText {
		return strings.ToValidUTF8(s, "\uFFFD")
	}
	return strings.ToValidUTF8(s[:maxText], "") + "…"
}

// encoded is a value as JSON; what panics is shown by its type, as fmt would do.
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
