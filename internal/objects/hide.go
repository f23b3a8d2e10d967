package objects

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// mark is shown in place of a hidden value.
const mark = "[redacted]"

// minSecret is the least length of a hidden value that is looked for in errors: shorter ones are in too many words.
const minSecret = 4

// ofSecrets are the fields of Secrets that are hidden.
var ofSecrets = [][]string{{"data"}, {"stringData"}}

// hide returns a copy of an object without the data of Secrets and without the values of some fields. A path goes
// on in each item of a list. Objects as text, such as what was applied or handled last, are treated alike.
func hide(o map[string]any, fields [][]string) map[string]any {
	if isSecret(o) {
		fields = append(ofSecrets[:len(ofSecrets):len(ofSecrets)], fields...)
	}
	return hider{root: fields}.object(o)
}

func isSecret(o map[string]any) bool { return o["apiVersion"] == "v1" && o["kind"] == "Secret" }

// hider hides values in one object.
type hider struct{ root [][]string }

// object returns a copy of an object. Its managed fields name the items of lists by their values, which may be hidden.
func (h hider) object(o map[string]any) map[string]any {
	out, _ := h.value(o, h.root).(map[string]any)
	if metadata, ok := out["metadata"].(map[string]any); ok && len(h.root) > 0 && metadata["managedFields"] != nil {
		metadata["managedFields"] = withoutItems(metadata["managedFields"])
	}
	return out
}

// withoutItems returns a copy of managed fields that names fields ("f:NAME") but no items of lists ("v:VALUE",
// "k:KEYS"), nor what is in them: one mark is shown in place of all items of a list.
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
				out[mark] = map[string]any{}
			} else {
				out[key] = withoutItems(child)
			}
		}
		return out
	}
	return value
}

// value returns a copy of a value. The paths are those of hidden fields, relative to the value.
func (h hider) value(value any, paths [][]string) any {
	if slices.ContainsFunc(paths, func(p []string) bool { return len(p) == 0 }) {
		return marked(value)
	}
	switch v := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, child := range v {
			var deeper [][]string
			for _, p := range paths {
				if p[0] == key {
					deeper = append(deeper, p[1:])
				}
			}
			out[key] = h.value(child, deeper)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = h.value(item, paths)
		}
		return out
	case string:
		return h.text(v)
	}
	return value
}

// text hides values in an object that is a text.
func (h hider) text(s string) string {
	var nested map[string]any
	if len(h.root) == 0 || !strings.HasPrefix(strings.TrimSpace(s), "{") || json.Unmarshal([]byte(s), &nested) != nil {
		return s
	}
	hidden, err := json.Marshal(h.object(nested))
	if err != nil {
		return mark
	}
	return string(hidden)
}

// marked returns marks in place of all values but null. The keys of maps remain.
func marked(value any) any {
	switch v := value.(type) {
	case nil:
		return nil
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, child := range v {
			out[key] = marked(child)
		}
		return out
	}
	return mark
}

// withoutSecrets returns an error without the values that are hidden in an object: the API server quotes what it
// does not accept.
func withoutSecrets(err error, o map[string]any, fields [][]string) error {
	if err == nil {
		return nil
	}
	values := hiddenValues(o, hide(o, fields), nil)
	slices.SortFunc(values, func(a, b string) int { return len(b) - len(a) }) // they may contain others
	text := err.Error()
	for _, value := range values {
		text = strings.ReplaceAll(text, value, mark)
	}
	if text == err.Error() {
		return err
	}
	return errors.New(text) // the original is not wrapped, as it would still show them
}

// hiddenValues appends the values of a tree that are marks in its copy.
func hiddenValues(value, shown any, found []string) []string {
	switch v := value.(type) {
	case map[string]any:
		copied, ok := shown.(map[string]any)
		for key, child := range v {
			if ok {
				found = hiddenValues(child, copied[key], found)
			} else {
				found = hiddenValues(child, shown, found)
			}
		}
	case []any:
		copied, ok := shown.([]any)
		for i, item := range v {
			if ok {
				found = hiddenValues(item, copied[i], found)
			} else {
				found = hiddenValues(item, shown, found)
			}
		}
	case nil:
	default:
		if text := fmt.Sprint(v); shown == mark && len(text) >= minSecret {
			found = append(found, text)
		}
	}
	return found
}
