package state

import (
	"slices"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// essenceText returns the JSON of an essence, equal to the bytes that Kopf for Python writes. The keys have the order of the
// object's JSON, except that the metadata follow the other fields, and the extra fields follow the metadata.
func essenceText(essence map[string]any, raw []byte, extra []object.Path) ([]byte, error) {
	order := keyOrderOf(raw)
	for _, path := range extra {
		order.ensure(path)
	}
	return order.append(make([]byte, 0, len(raw)/2+64), essence, raw)
}

// keyOrder is the order of the keys of a map. A nil keyOrder means the order in the object's JSON.
type keyOrder []orderedKey

type orderedKey struct {
	key   string
	order *keyOrder // order of the keys in the value
}

// keyOrderOf returns the order in which Python builds an essence: first the copied fields, then the labels, then the
// annotations that are not excluded.
func keyOrderOf(raw []byte) *keyOrder {
	root := &keyOrder{}
	var meta []byte
	for key, value := range object.Members(raw) {
		switch key {
		case "metadata":
			meta = value
		case "apiVersion", "kind", "status":
		default:
			root.add(key, nil)
		}
	}
	var hasLabels, hasAnnotations bool
	var annotations []byte
	for key, value := range object.Members(meta) {
		switch key {
		case "labels":
			hasLabels = true
		case "annotations":
			hasAnnotations, annotations = true, value
		}
	}
	if !hasLabels && !hasAnnotations {
		return root
	}
	inner := &keyOrder{}
	root.add("metadata", inner)
	if hasLabels {
		inner.add("labels", nil)
	}
	if hasAnnotations {
		inner.add("annotations", orderOfAnnotations(annotations))
	}
	return root
}

func orderOfAnnotations(raw []byte) *keyOrder {
	all := make(map[string]any)
	for key := range object.Members(raw) {
		all[key] = nil
	}
	isForeign := foreign(all)
	out := &keyOrder{}
	for key := range object.Members(raw) {
		if !isForeign(key) {
			out.add(key, nil)
		}
	}
	return out
}

func (n *keyOrder) add(key string, child *keyOrder) {
	*n = append(*n, orderedKey{key, child})
}

func (n *keyOrder) index(key string) int {
	return slices.IndexFunc(*n, func(k orderedKey) bool { return k.key == key })
}

// ensure adds a field in the way of Python's dict: an existing field keeps its place, and a new field comes last. The keys
// inside the field have the order of the object's JSON.
func (n *keyOrder) ensure(path object.Path) {
	for i, key := range path {
		last := i == len(path)-1
		at := n.index(key)
		switch {
		case at < 0 && last:
			n.add(key, nil)
		case at < 0:
			n.add(key, &keyOrder{})
			at = len(*n) - 1
		case last:
			(*n)[at].order = nil
		}
		if last || (*n)[at].order == nil {
			return
		}
		n = (*n)[at].order
	}
}

func (n *keyOrder) append(dst []byte, value any, raw []byte) ([]byte, error) {
	m, isMap := value.(map[string]any)
	if n == nil || !isMap {
		return object.AppendJSON(dst, value, raw)
	}
	hints := make(map[string][]byte, len(m))
	for key, hint := range object.Members(raw) {
		hints[key] = hint
	}
	dst = append(dst, '{')
	start := len(dst)
	var err error
	write := func(key string, child *keyOrder) {
		if len(dst) > start {
			dst = append(dst, ',')
		}
		dst = append(object.AppendString(dst, key), ':')
		dst, err = child.append(dst, m[key], hints[key])
	}
	written := 0
	for _, k := range *n {
		if _, ok := m[k.key]; ok && err == nil {
			write(k.key, k.order)
			written++
		}
	}
	if written < len(m) {
		for _, key := range object.SortedKeys(m) {
			if n.index(key) < 0 && err == nil {
				write(key, nil)
			}
		}
	}
	if err != nil {
		return nil, err
	}
	return append(dst, '}'), nil
}
