package state

import (
	"fmt"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
)

// ResultError says that the result of a handler cannot be stored.
type ResultError struct {
	ID  string // the handler
	Err error  // why its result cannot be stored
}

// Error implements error.
func (e *ResultError) Error() string {
	return fmt.Sprintf("the result of handler %q cannot be stored: %v", e.ID, e.Err)
}

// Unwrap returns why the result cannot be stored.
func (e *ResultError) Unwrap() error { return e.Err }

// Results puts the results of all handlers that have not failed into the patch, each
// under status.<id>. The members of a map join those that the patch has there already;
// any other result takes their place. A nil result is none.
//
// All results that can be stored are stored, whatever is wrong with the others.
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
		return &ResultError{ID: id, Err: err}
	}
	path := object.Path{"status", id}
	before, _ := p.Lookup(path)
	_, joins := before.(map[string]any)
	fields, isMap := value.(map[string]any)
	switch {
	case value == nil: // such as a typed nil pointer
	case isMap && joins:
		for _, key := range object.SortedKeys(fields) {
			p.Set(path.Child(key), object.Clone(fields[key]))
		}
	default:
		p.Set(path, object.Clone(value))
	}
	return nil
}
