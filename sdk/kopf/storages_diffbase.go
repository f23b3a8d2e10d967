package kopf

import (
	"context"
	"encoding/json"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

// Essence implements [DiffBaseStorage].
func (s AnnotationsDiffBase) Essence(_ *Object, essence map[string]any) map[string]any {
	return essenceOf(s.engine(), essence)
}

// Fetch implements [DiffBaseStorage].
func (s AnnotationsDiffBase) Fetch(_ context.Context, body *Object) (map[string]any, error) {
	return s.engine().Fetch(treeOf(body))
}

// Store implements [DiffBaseStorage].
func (s AnnotationsDiffBase) Store(_ context.Context, body *Object, essence map[string]any, patch *Patch) error {
	return storeBase(s.engine(), body, essence, patch)
}

// Essence implements [DiffBaseStorage].
func (s StatusDiffBase) Essence(_ *Object, essence map[string]any) map[string]any {
	return essenceOf(s.engine(), essence)
}

// Fetch implements [DiffBaseStorage].
func (s StatusDiffBase) Fetch(_ context.Context, body *Object) (map[string]any, error) {
	return s.engine().Fetch(treeOf(body))
}

// Store implements [DiffBaseStorage].
func (s StatusDiffBase) Store(_ context.Context, body *Object, essence map[string]any, patch *Patch) error {
	return storeBase(s.engine(), body, essence, patch)
}

// essenceOf removes from an essence what the storage stores on the object. Fields that handlers
// asked for stay.
func essenceOf(s state.DiffBaseStorage, essence map[string]any) map[string]any {
	asked := []object.Path{{"apiVersion"}, {"kind"}, {"status"}}
	metadata, _ := essence["metadata"].(map[string]any)
	for key := range metadata {
		if key != "labels" && key != "annotations" {
			asked = append(asked, object.Path{"metadata", key})
		}
	}
	return s.Essence(essence, asked)
}

func storeBase(s state.DiffBaseStorage, body *Object, essence map[string]any, p *Patch) error {
	raw, err := json.Marshal(body)
	if err != nil {
		return err
	}
	if body == nil {
		raw = nil
	}
	return s.Store(treeOf(body), raw, essence, nil, patchOf(p))
}
