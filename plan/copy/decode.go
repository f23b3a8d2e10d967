package copy

import (
	"bytes"
	"encoding/json"
	"strings"
)

// decode decodes an object without changing its numbers.
func decode(raw []byte) (tree map[string]any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	err = decoder.Decode(&tree)
	return tree, err
}

// kindOf returns the kind of the items of a list.
func kindOf(list string) string { return strings.TrimSuffix(list, "List") }

// identity is the part of an object that a listing needs. Decoding more of it would take most of the time of a copy.
type identity struct {
	Kind     string
	Metadata struct{ Namespace, Name string }
}
