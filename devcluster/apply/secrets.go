package apply

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// minSecret is the least length of a value that is looked for in errors: shorter ones are in too many words.
const minSecret = 4

// withoutSecrets returns an error in which the data of a Secret are replaced: the API server quotes values that
// it does not accept.
func (m Manifest) withoutSecrets(err error) error {
	if m.Object.GetKind() != "Secret" || m.Object.GetAPIVersion() != "v1" {
		return err
	}
	var values []string
	for _, field := range []string{"data", "stringData"} {
		values = leaves(m.Object.Object[field], values)
	}
	slices.SortFunc(values, func(a, b string) int { return len(b) - len(a) }) // they may contain others
	text := err.Error()
	for _, value := range values {
		text = strings.ReplaceAll(text, value, "[redacted]")
	}
	if text == err.Error() {
		return err
	}
	return errors.New(text) // the original is not wrapped, as it would still show them
}

// leaves appends the values that are neither maps nor lists, and are long enough.
func leaves(value any, found []string) []string {
	switch v := value.(type) {
	case nil, bool:
	case map[string]any:
		for _, child := range v {
			found = leaves(child, found)
		}
	case []any:
		for _, item := range v {
			found = leaves(item, found)
		}
	default:
		text := fmt.Sprint(v)
		if f, ok := v.(float64); ok {
			text = strconv.FormatFloat(f, 'f', -1, 64)
		}
		if len(text) >= minSecret {
			found = append(found, text)
		}
	}
	return found
}
