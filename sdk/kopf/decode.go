package kopf

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	kjson "sigs.k8s.io/json"
)

// decode decodes JSON found at a path of an object into v.
func decode(raw []byte, path string, v any) error {
	err := kjson.UnmarshalCaseSensitivePreserveInts(raw, v)
	if err == nil {
		return nil
	}
	var where, what string
	var mistyped *json.UnmarshalTypeError
	if errors.As(err, &mistyped) {
		where = joinPath(path, mistyped.Field)
		what = fmt.Sprintf("is a %s, which does not fit into %s", mistyped.Value, mistyped.Type)
	} else {
		// The error of a type's own UnmarshalJSON has no path.
		where = joinPath(path, pathOfMismatch(raw, reflect.TypeOf(v).Elem()))
		what = "does not decode: " + err.Error()
	}
	return PermanentError{fmt.Errorf("%s %s: %w", cmp.Or(where, "the object"), what, errDecode)}
}

var errDecode = errors.New("fix the object or the handler's type")

// decodeValue decodes a value of a tree into v. An absent (nil) value leaves v unchanged.
func decodeValue(value any, path string, v any) error {
	if value == nil {
		return nil
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return PermanentError{fmt.Errorf("%s: %w", path, err)}
	}
	return decode(raw, path, v)
}

// pathOfMismatch returns the path of the value that does not decode into a type. It decodes each value
// alone, which is slow, so it runs only after a failure. For a mismatch inside a list, it
// returns the path of the list; for several mismatches, their common path.
func pathOfMismatch(raw []byte, t reflect.Type) string {
	var tree map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &tree); err != nil {
		return ""
	}
	fails := func(tree any) bool {
		raw, err := json.Marshal(tree)
		return err == nil && kjson.UnmarshalCaseSensitivePreserveInts(raw, reflect.New(t).Interface()) != nil
	}
	var descend func(value any, wrap func(any) any) string
	descend = func(value any, wrap func(any) any) string {
		m, ok := value.(map[string]any)
		if !ok {
			return ""
		}
		for _, k := range slices.Sorted(maps.Keys(m)) {
			inside := func(v any) any { return wrap(map[string]any{k: v}) }
			if fails(inside(m[k])) {
				return joinPath(k, descend(m[k], inside))
			}
		}
		return ""
	}
	return descend(tree, func(v any) any { return v })
}

func joinPath(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "." + b
}

// decodeAs returns an object as a *T: the view itself if T is Object.
func decodeAs[T any](o *Object) (*T, error) {
	if o == nil {
		return nil, nil
	}
	if view, ok := any(o).(*T); ok {
		return view, nil
	}
	v := new(T)
	return v, o.Decode("", v)
}
