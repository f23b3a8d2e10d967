package admission

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// applied applies a JSON patch to a copy of an object, as the API server does.
func applied(tree map[string]any, text []byte) (map[string]any, error) {
	var ops []struct {
		Op    string          `json:"op"`
		Path  string          `json:"path"`
		Value json.RawMessage `json:"value"`
	}
	if err := json.Unmarshal(text, &ops); err != nil {
		return nil, err
	}
	var doc any = object.CloneMap(tree)
	for _, op := range ops {
		var value any
		if op.Op != "remove" {
			var err error
			if value, err = object.DecodeJSON(op.Value); err != nil {
				return nil, fmt.Errorf("%s: %w", op.Value, err)
			}
		}
		var err error
		if doc, err = operate(doc, strings.Split(op.Path, "/")[1:], op.Op, value); err != nil {
			return nil, fmt.Errorf("%s %s: %w", op.Op, op.Path, err)
		}
	}
	result, _ := doc.(map[string]any)
	return result, nil
}

func operate(doc any, path []string, op string, value any) (any, error) {
	if len(path) == 0 {
		return value, nil
	}
	key, last := strings.ReplaceAll(strings.ReplaceAll(path[0], "~1", "/"), "~0", "~"), len(path) == 1
	switch doc := doc.(type) {
	case map[string]any:
		child, exists := doc[key]
		switch {
		case !last:
			changed, err := operate(child, path[1:], op, value)
			doc[key] = changed
			return doc, err
		case op != "add" && !exists:
			return nil, fmt.Errorf("there is no %q", key)
		case op == "remove":
			delete(doc, key)
		default:
			doc[key] = value
		}
		return doc, nil
	case []any:
		i, err := strconv.Atoi(key)
		if err != nil || i < 0 || i > len(doc) || i == len(doc) && (op != "add" || !last) {
			return nil, fmt.Errorf("there is no item %s", key)
		}
		switch {
		case !last:
			doc[i], err = operate(doc[i], path[1:], op, value)
		case op == "remove":
			doc = slices.Delete(doc, i, i+1)
		case op == "add":
			doc = slices.Insert(doc, i, value)
		default:
			doc[i] = value
		}
		return doc, err
	}
	return nil, fmt.Errorf("%q is inside of a value", key)
}
