package kopf

import (
	"encoding/json"
	"fmt"
	"sync"

	kjson "sigs.k8s.io/json"

	"github.com/kopf-dev/kopf/sdk/internal/daemons"
	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// Object is a Kubernetes object without a type: a read-only view of its JSON. A nil Object is
// empty. The methods are safe for concurrent use, except [Object.UnmarshalJSON].
//
// It is convenient for one or two fields. For more fields, declare a struct and use it as the handler's type. If an object
// has 2 MiB or more, which only happens in admission reviews, each call of [Object.Get] and [Object.Decode] reads the JSON
// again and decodes only one field, to save memory.
type Object struct {
	wire *object.Object // object from the cluster; nil for other objects
	raw  []byte         // JSON of an object without wire; nil if only the decoded tree is known

	decode sync.Once
	aside  bool // decode on a separate stack, not on the caller's stack
	tree   map[string]any
	err    error
}

func objectOfWire(o *object.Object) *Object { return &Object{wire: o} }

// objectOfTree returns nil for a nil tree, such as an absent essence.
func objectOfTree(tree map[string]any) *Object {
	if tree == nil {
		return nil
	}
	return &Object{tree: tree}
}

// ObjectOf returns a view of any value that encodes as a JSON object, such as a typed API object, an unstructured object
// or a map. Later changes of the value do not change the view. It returns an error if the value does not encode, or does
// not encode as a JSON object.
func ObjectOf(v any) (*Object, error) {
	if o, ok := v.(*Object); ok {
		return o, nil
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("kopf.ObjectOf(%T): %w", v, err)
	}
	o := &Object{}
	if err := o.UnmarshalJSON(raw); err != nil {
		return nil, fmt.Errorf("kopf.ObjectOf(%T): %w", v, err)
	}
	return o, nil
}

// Get returns the value at a path: nil, bool, string, int64, float64, []any or map[string]any.
// The value must not be modified. It is nil if it is absent, and if the path is malformed.
func (o *Object) Get(path Path) any {
	v, _ := o.lookup(path)
	return v
}

func (o *Object) lookup(path Path) (any, error) {
	if o == nil {
		return nil, nil
	}
	p, err := path.parse()
	if err != nil {
		return nil, err
	}
	if o.wire != nil && o.wire.Huge() && !o.aside {
		return o.wire.Find(p)
	}
	tree, err := o.contents()
	if err != nil {
		return nil, err
	}
	v, _ := object.Lookup(tree, p)
	return v, nil
}

// Decode decodes the value at a path into v. An absent value leaves v unchanged. It returns a [PermanentError] with the
// path if the value does not decode into v, or if the path is malformed.
func (o *Object) Decode(path Path, v any) error {
	if o == nil {
		return nil
	}
	if path == "" {
		raw, err := o.MarshalJSON()
		if err != nil {
			return err
		}
		return decode(raw, "", v)
	}
	value, err := o.lookup(path)
	if err != nil {
		return PermanentError{err}
	}
	return decodeValue(value, string(path), v)
}

// MarshalJSON returns the JSON of the object, which must not be modified.
func (o *Object) MarshalJSON() ([]byte, error) {
	switch {
	case o == nil:
		return []byte("null"), nil
	case o.wire != nil:
		return o.wire.Raw, nil
	case o.raw != nil:
		return o.raw, nil
	default:
		return json.Marshal(o.tree)
	}
}

// UnmarshalJSON replaces the contents of the object. It is not safe for concurrent use: call it only on a new Object.
func (o *Object) UnmarshalJSON(raw []byte) error {
	var tree map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &tree); err != nil {
		return fmt.Errorf("decode an object: %w", err)
	}
	*o = Object{raw: append([]byte(nil), raw...), tree: tree}
	return nil
}

// contents returns the decoded object, which must not be modified.
func (o *Object) contents() (map[string]any, error) {
	if o == nil {
		return nil, nil
	}
	o.decode.Do(func() {
		read := func() (err error) {
			o.tree, err = o.wire.Tree()
			return err
		}
		switch {
		case o.wire == nil:
		case o.aside:
			o.err = daemons.OnNewStack(read)
		default:
			o.err = read()
		}
	})
	return o.tree, o.err
}

// barrier returns the path and the value of the outermost parent of a field that is not a map; nil if all parents are maps
// or absent.
func (o *Object) barrier(where object.Path) (object.Path, any, error) {
	if o == nil {
		return nil, nil, nil
	}
	if o.wire != nil {
		return o.wire.Barrier(where)
	}
	at, found := object.Barrier(o.tree, where)
	return at, found, nil
}

// GetOr returns the value at a path of an object, or def if the value is absent or does not
// decode into V.
//
//	duration := kopf.GetOr(c.Object, "spec.duration", 60)
func GetOr[V any](o *Object, path Path, def V) V {
	value := o.Get(path)
	if value == nil {
		return def
	}
	if v, ok := value.(V); ok {
		return v
	}
	var v V
	if err := decodeValue(value, string(path), &v); err != nil {
		return def
	}
	return v
}
