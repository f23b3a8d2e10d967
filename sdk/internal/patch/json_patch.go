package patch

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// Operations of JSON patches.
const (
	opAdd     = "add"
	opRemove  = "remove"
	opReplace = "replace"
	opTest    = "test"
)

// Op is an operation of a JSON patch.
type Op struct {
	Op    string // "add", "remove", "replace" or "test"
	Path  string // a JSON pointer
	Value any    // unused by "remove"
}

// MarshalJSON implements [json.Marshaler]. It writes null values, but none for removals.
func (o Op) MarshalJSON() ([]byte, error) {
	if o.Op == opRemove {
		return json.Marshal(struct {
			Op   string `json:"op"`
			Path string `json:"path"`
		}{o.Op, o.Path})
	}
	return json.Marshal(struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		Value any    `json:"value"`
	}{o.Op, o.Path, o.Value})
}

// JSONPatch returns the operations for the merge patch and the transformations together. It
// does not change the object.
//
// Unlike with a merge patch that the server applies, a map cannot replace a scalar, which is
// an [object.NotMapError], an empty map creates nothing, and parents that become empty by a
// removal are removed.
func (p *Patch) JSONPatch(object map[string]any) ([]Op, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, ops, err := transform(object, p.merge, p.fns)
	return ops, err
}

// Apply returns the patched object, and the operations that [Patch.JSONPatch] returns.
func (p *Patch) Apply(object map[string]any) (map[string]any, []Op, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return transform(object, p.merge, p.fns)
}

// ErrTransform is wrapped by the error of a patch with a transformation that failed.
var ErrTransform = errors.New("a transformation of the patch failed")

// transform returns the changed object, and the operations for the change.
func transform(obj, merge map[string]any, fns []Fn) (wanted map[string]any, ops []Op, err error) {
	wanted = object.CloneMap(obj)
	if wanted == nil {
		wanted = map[string]any{}
	}
	if err := apply(wanted, nil, merge); err != nil {
		return nil, nil, err
	}
	identity := identityOf(wanted)
	for _, fn := range fns {
		if err := fn(wanted); err != nil {
			return nil, nil, fmt.Errorf("%w: %w", ErrTransform, err)
		}
	}
	for i, value := range identityOf(wanted) {
		if value != identity[i] {
			return nil, nil, fmt.Errorf("%w: it changes metadata.%s, which only the API server can set", ErrTransform, identityFields[i])
		}
	}
	normal, err := object.Normalize(wanted)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: encode the object: %w", ErrTransform, err)
	}
	var list opList
	list.compare("", asMap(obj), normal)
	wanted, _ = normal.(map[string]any)
	return wanted, list, nil
}

// identityFields are the fields of the metadata by which the API server finds the object, or checks
// that it has not changed. A patch that changes them is a conflict however often it is repeated.
var identityFields = [...]string{"resourceVersion", "uid", "name", "namespace"}

func identityOf(obj map[string]any) (values [len(identityFields)]string) {
	for i, field := range identityFields {
		values[i], _ = object.Metadata(obj)[field].(string)
	}
	return values
}

func apply(obj map[string]any, path object.Path, merge map[string]any) error {
	for _, key := range object.SortedKeys(merge) {
		var err error
		child := path.Child(key)
		switch value := merge[key].(type) {
		case nil:
			err = object.Remove(obj, child)
		case map[string]any:
			err = apply(obj, child, value)
		default:
			err = object.Ensure(obj, child, object.Clone(value))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func asMap(m map[string]any) any {
	if m == nil {
		return map[string]any{}
	}
	return m
}

type opList []Op

func (l *opList) compare(path string, before, after any) {
	switch before := before.(type) {
	case map[string]any:
		if after, ok := after.(map[string]any); ok {
			l.compareMaps(path, before, after)
			return
		}
	case []any:
		if after, ok := after.([]any); ok {
			l.compareLists(path, before, after)
			return
		}
	}
	if !identical(before, after) {
		*l = append(*l, Op{Op: opReplace, Path: path, Value: after})
	}
}

func (l *opList) compareMaps(path string, before, after map[string]any) {
	for _, key := range object.SortedKeys(before) {
		if _, ok := after[key]; !ok {
			*l = append(*l, Op{Op: opRemove, Path: path + "/" + escape(key)})
		}
	}
	for _, key := range object.SortedKeys(after) {
		here := path + "/" + escape(key)
		old, ok := before[key]
		if !ok {
			*l = append(*l, Op{Op: opAdd, Path: here, Value: after[key]})
			continue
		}
		l.compare(here, old, after[key])
	}
}

// compareLists skips the items that both lists begin and end with, so that an item that was
// added or removed anywhere is one operation.
func (l *opList) compareLists(path string, before, after []any) {
	start := 0
	for start < len(before) && start < len(after) && identical(before[start], after[start]) {
		start++
	}
	endB, endA := len(before), len(after)
	for endB > start && endA > start && identical(before[endB-1], after[endA-1]) {
		endB--
		endA--
	}
	both := min(endB, endA)
	for i := start; i < both; i++ {
		l.compare(path+"/"+strconv.Itoa(i), before[i], after[i])
	}
	for range endB - both {
		*l = append(*l, Op{Op: opRemove, Path: path + "/" + strconv.Itoa(both)})
	}
	for i := both; i < endA; i++ {
		*l = append(*l, Op{Op: opAdd, Path: path + "/" + strconv.Itoa(i), Value: after[i]})
	}
}

// identical is stricter than [object.Equal]: 1, 1.0 and true are different JSON.
func identical(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for key, x := range a {
			if y, ok := b[key]; !ok || !identical(x, y) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !identical(a[i], b[i]) {
				return false
			}
		}
		return true
	default:
		switch b.(type) {
		case map[string]any, []any:
			return false // not comparable by ==
		}
		return a == b
	}
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// Pointer returns the JSON pointer of a field.
func Pointer(keys ...string) string {
	var b strings.Builder
	for _, key := range keys {
		b.WriteString("/" + escape(key))
	}
	return b.String()
}

func escape(key string) string {
	return pointerEscapes.Replace(key)
}
