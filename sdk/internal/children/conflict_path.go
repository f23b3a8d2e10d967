package children

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// place is the path of a field in a tree. Its parts are the names of map members (string) and the indices of list items (int).
type place []any

// with returns the place with another part at the end. The new place shares no memory with p.
func (p place) with(part any) place { return append(p[:len(p):len(p)], part) }

// search finds the places that a path in the API server's notation can refer to, such as .spec.containers[name="web"].image.
// The notation does not quote names, so dots and brackets can be parts of names. Only the tree shows where a name ends.
type search struct {
	found []place
}

// in searches a value for the rest of a path. If the value is an item of a list, keys has the fields that identify the item. The
// search skips identifying fields, because they cannot be removed.
func (s *search) in(value any, rest string, keys map[string]any, at place) {
	if rest == "" {
		s.found = append(s.found, at)
		return
	}
	switch value := value.(type) {
	case map[string]any:
		name, ok := strings.CutPrefix(rest, ".")
		if !ok {
			return
		}
		for _, key := range object.SortedKeys(value) {
			after, ok := strings.CutPrefix(name, key)
			if _, identifies := keys[key]; !ok || after != "" && after[0] != '.' && after[0] != '[' || after == "" && identifies {
				continue
			}
			s.in(value[key], after, nil, at.with(key))
		}
	case []any:
		selected, after, err := readSelector(rest)
		if err != nil {
			return
		}
		for _, i := range selected.items(value) {
			s.in(value[i], after, selected.keys, at.with(i))
		}
	}
}

// checkPath returns an error for a path that is not in the API server's notation.
func checkPath(path string) error {
	for rest := path; rest != "" || path == ""; {
		if name, ok := strings.CutPrefix(rest, "."); ok {
			end := strings.IndexAny(name, ".[")
			if end < 0 {
				end = len(name)
			}
			if end == 0 {
				return fmt.Errorf("read the path %s: a name is missing at %q", path, rest)
			}
			rest = name[end:]
			continue
		}
		var err error
		if _, rest, err = readSelector(rest); err != nil {
			return fmt.Errorf("read the path %s: %w", path, err)
		}
	}
	return nil
}

// selector is a bracket of a path, which selects items of a list. It selects by keys, by value or by index.
type selector struct {
	keys    map[string]any // keys of [name="web"]; nil for other selectors
	isValue bool           // the selector is a value
	value   any            // value of [="finalizer"]
	index   int            // index of [0]
}

// readSelector parses the selector at the beginning of a path, and returns the rest of the path.
func readSelector(text string) (selector, string, error) {
	var s selector
	rest, ok := strings.CutPrefix(text, "[")
	if !ok {
		return s, "", fmt.Errorf("%q begins with neither a dot nor a bracket", text)
	}
	inner, after, closed := strings.Cut(rest, "]")
	if index, err := strconv.ParseUint(inner, 10, 31); err == nil && closed {
		s.index = int(index)
		return s, after, nil
	}
	for more := true; more; {
		name, after, ok := strings.Cut(rest, "=")
		if !ok || name == "" && s.keys != nil || strings.ContainsAny(name, `"[],`) {
			return s, "", fmt.Errorf("%q selects no items", text)
		}
		value, after, err := readScalar(after)
		if err != nil {
			return s, "", fmt.Errorf("%q: %w", text, err)
		}
		if name == "" {
			s.isValue, s.value = true, value
		} else {
			if s.keys == nil {
				s.keys = map[string]any{}
			}
			s.keys[name] = value
		}
		rest, more = strings.CutPrefix(after, ",")
		if s.isValue && more || !more && !strings.HasPrefix(rest, "]") {
			return s, "", fmt.Errorf("%q is not closed", text)
		}
	}
	return s, rest[1:], nil
}

// readScalar parses the JSON scalar at the beginning of a path, and returns the rest of the path.
func readScalar(text string) (value any, rest string, err error) {
	if strings.HasPrefix(text, `"`) {
		quoted, err := strconv.QuotedPrefix(text)
		if err != nil {
			return nil, "", fmt.Errorf("read a quoted string: %w", err)
		}
		value, err := strconv.Unquote(quoted)
		return value, text[len(quoted):], err
	}
	end := strings.IndexAny(text, ",]")
	if end < 0 {
		end = len(text)
	}
	decoded, err := object.DecodeJSON([]byte(text[:end]))
	if err != nil {
		return nil, "", fmt.Errorf("read a value: %w", err)
	}
	switch decoded.(type) {
	case map[string]any, []any:
		return nil, "", fmt.Errorf("%s is no scalar", text[:end])
	}
	value, err = canonical(decoded)
	return value, text[end:], err
}

// items returns the indices of the selected items. If no item has all keys, it also returns items that lack some.
func (s *selector) items(list []any) []int {
	switch {
	case s.keys != nil:
		if exact := indicesOf(list, func(item any) bool { return matches(item, s.keys, true) }); exact != nil {
			return exact
		}
		return indicesOf(list, func(item any) bool { return matches(item, s.keys, false) })
	case s.isValue:
		return indicesOf(list, func(item any) bool { return reflect.DeepEqual(item, s.value) })
	case s.index < len(list):
		return []int{s.index}
	}
	return nil
}

func indicesOf(list []any, selects func(any) bool) (indices []int) {
	for i, item := range list {
		if selects(item) {
			indices = append(indices, i)
		}
	}
	return indices
}
