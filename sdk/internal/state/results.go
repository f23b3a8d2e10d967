package state

import (
	"fmt"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
)

// resultError is the error of a result that cannot be stored.
type resultError struct {
	ID  string // id of the handler
	Err error  // error of the encoding
}

// Error implements the error interface.
func (e *resultError) Error() string {
	return fmt.Sprintf("store the result of handler %q: %v", e.ID, e.Err)
}

// Unwrap returns the error of the encoding.
func (e *resultError) Unwrap() error { return e.Err }

// DeliverResults adds the results of all handlers that have not failed to the patch, each under status.<id>. A result that
// is a map is merged into a map that the patch already has under this key. Other results replace the value. Nil is no result.
//
// If a result does not encode as JSON, DeliverResults returns an error, but still adds the other results.
func DeliverResults(outcomes map[string]handlers.Outcome, p *patch.Patch) error {
	var failure error
	for _, id := range object.SortedKeys(outcomes) {
		o := outcomes[id]
		if o.Err != nil || o.Result == nil {
			continue
		}
		if err := deliver(id, o.Result, p); err != nil && failure == nil {
			failure = err
		}
	}
	return failure
}

func deliver(id string, result any, p *patch.Patch) error {
	value, err := object.Normalize(result)
	if err != nil {
		return &resultError{ID: id, Err: err}
	}
	path := object.Path{"status", id}
	before, _ := p.Lookup(path)
	_, joins := before.(map[string]any)
	fields, isMap := value.(map[string]any)
	switch {
	case value == nil: // such as a nil pointer with a type
	case isMap && joins:
		for _, key := range object.SortedKeys(fields) {
			p.Set(path.Child(key), object.Clone(fields[key]))
		}
	default:
		p.Set(path, object.Clone(value))
	}
	return nil
}
