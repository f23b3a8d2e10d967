package patch

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// fakeServer applies patches as an API server does, with a new resource version for
// each of them.
type fakeServer struct {
	object map[string]any
	fail   func(call Call) int // the status to fail with, or 0
	before func(call Call)     // something that happens right before a request
	calls  []Call
	states []map[string]any // the object before each of the calls
}

// state makes the trees of the server's answers.
type state map[string]any

func (s state) Tree() (map[string]any, error) { return s, nil }

func (f *fakeServer) do(call Call) (Object, error) {
	f.calls = append(f.calls, call)
	f.states = append(f.states, f.object)
	if f.before != nil {
		f.before(call)
	}
	if f.fail != nil {
		if status := f.fail(call); status != 0 {
			return nil, answer(status, call)
		}
	}
	next := object.CloneMap(f.object)
	switch payload := call.Payload.(type) {
	case map[string]any:
		mergeInto(next, payload)
	case []Op:
		changed, err := run(next, payload)
		if err != nil {
			return nil, answer(422, call)
		}
		next = changed.(map[string]any)
	}
	version, err := strconv.Atoi(object.Metadata(f.object)["resourceVersion"].(string))
	if err != nil {
		return nil, err
	}
	next["metadata"].(map[string]any)["resourceVersion"] = strconv.Itoa(version + 1)
	f.object = next
	return state(object.CloneMap(next)), nil
}

// answer is the error of a request with an HTTP status.
func answer(status int, call Call) error {
	switch {
	case status == 404:
		return ErrGone
	case status == 422 && call.ContentType == JSONType:
		return ErrOutdated
	default:
		return fmt.Errorf("HTTP %d", status)
	}
}

// mergeInto follows RFC 7386.
func mergeInto(obj, merge map[string]any) {
	for key, value := range merge {
		switch value := value.(type) {
		case nil:
			delete(obj, key)
		case map[string]any:
			child, ok := obj[key].(map[string]any)
			if !ok {
				child = map[string]any{}
			}
			mergeInto(child, value)
			obj[key] = child
		default:
			obj[key] = object.Clone(value)
		}
	}
}

// run follows RFC 6902, as far as it is used.
func run(object any, ops []Op) (any, error) {
	var err error
	for _, op := range ops {
		keys := strings.Split(op.Path, "/")[1:]
		for i, key := range keys {
			keys[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(key)
		}
		if object, err = applyAt(object, keys, op); err != nil {
			return nil, fmt.Errorf("%s %s: %w", op.Op, op.Path, err)
		}
	}
	return object, nil
}

func applyAt(node any, keys []string, op Op) (any, error) {
	key, last := keys[0], len(keys) == 1
	switch node := node.(type) {
	case map[string]any:
		child, exists := node[key]
		switch {
		case !exists && (!last || op.Op != opAdd):
			return nil, fmt.Errorf("no %q", key)
		case !last:
			changed, err := applyAt(child, keys[1:], op)
			node[key] = changed
			return node, err
		case op.Op == opRemove:
			delete(node, key)
		case op.Op == opTest:
			if child != op.Value {
				return nil, fmt.Errorf("%v is not %v", child, op.Value)
			}
		default:
			node[key] = object.Clone(op.Value)
		}
		return node, nil
	case []any:
		i, err := strconv.Atoi(key)
		switch {
		case err != nil || i > len(node) || i == len(node) && (!last || op.Op != opAdd):
			return nil, fmt.Errorf("no item %q", key)
		case !last:
			node[i], err = applyAt(node[i], keys[1:], op)
			return node, err
		case op.Op == opRemove:
			return slices.Delete(node, i, i+1), nil
		case op.Op == opAdd:
			return slices.Insert(node, i, object.Clone(op.Value)), nil
		}
		node[i] = object.Clone(op.Value)
		return node, nil
	}
	return nil, fmt.Errorf("%T has no %q", node, key)
}
