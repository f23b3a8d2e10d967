package storage

import (
	"context"
	"maps"

	"github.com/kopf-dev/kopf/sdk/internal/bridge"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/state"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

// The methods here are for storages that are made of others, and for tests; the operator
// takes the shorter way: see engine.go.

// Fetch implements [kopf.ProgressStorage].
func (s AnnotationsProgress) Fetch(_ context.Context, body *kopf.Object, id string) (*kopf.ProgressRecord, error) {
	return fetch(s.engine(), body, id)
}

// Store implements [kopf.ProgressStorage].
func (s AnnotationsProgress) Store(_ context.Context, body *kopf.Object, id string, record *kopf.ProgressRecord, patch *kopf.Patch) error {
	return store(s.engine(), body, id, record, patch)
}

// Purge implements [kopf.ProgressStorage].
func (s AnnotationsProgress) Purge(_ context.Context, body *kopf.Object, id string, patch *kopf.Patch) error {
	return purge(s.engine(), body, id, patch)
}

// Touch implements [kopf.ProgressStorage].
func (s AnnotationsProgress) Touch(_ context.Context, body *kopf.Object, value string, patch *kopf.Patch) error {
	return touch(s.engine(), body, value, patch)
}

// Clean implements [kopf.ProgressStorage].
func (s AnnotationsProgress) Clean(essence map[string]any) { clean(s.engine(), essence) }

// Fetch implements [kopf.ProgressStorage].
func (s StatusProgress) Fetch(_ context.Context, body *kopf.Object, id string) (*kopf.ProgressRecord, error) {
	return fetch(s.engine(), body, id)
}

// Store implements [kopf.ProgressStorage].
func (s StatusProgress) Store(_ context.Context, body *kopf.Object, id string, record *kopf.ProgressRecord, patch *kopf.Patch) error {
	return store(s.engine(), body, id, record, patch)
}

// Purge implements [kopf.ProgressStorage].
func (s StatusProgress) Purge(_ context.Context, body *kopf.Object, id string, patch *kopf.Patch) error {
	return purge(s.engine(), body, id, patch)
}

// Touch implements [kopf.ProgressStorage].
func (s StatusProgress) Touch(_ context.Context, body *kopf.Object, value string, patch *kopf.Patch) error {
	return touch(s.engine(), body, value, patch)
}

// Clean implements [kopf.ProgressStorage].
func (s StatusProgress) Clean(essence map[string]any) { clean(s.engine(), essence) }

// Fetch implements [kopf.ProgressStorage].
func (s SmartProgress) Fetch(_ context.Context, body *kopf.Object, id string) (*kopf.ProgressRecord, error) {
	return fetch(s.engine(), body, id)
}

// Store implements [kopf.ProgressStorage].
func (s SmartProgress) Store(_ context.Context, body *kopf.Object, id string, record *kopf.ProgressRecord, patch *kopf.Patch) error {
	return store(s.engine(), body, id, record, patch)
}

// Purge implements [kopf.ProgressStorage].
func (s SmartProgress) Purge(_ context.Context, body *kopf.Object, id string, patch *kopf.Patch) error {
	return purge(s.engine(), body, id, patch)
}

// Touch implements [kopf.ProgressStorage].
func (s SmartProgress) Touch(_ context.Context, body *kopf.Object, value string, patch *kopf.Patch) error {
	return touch(s.engine(), body, value, patch)
}

// Clean implements [kopf.ProgressStorage].
func (s SmartProgress) Clean(essence map[string]any) { clean(s.engine(), essence) }

func treeOf(body *kopf.Object) map[string]any {
	tree, _ := body.Get("").(map[string]any)
	return tree
}

// patchOf returns what to write to: what is thrown away, for a nil patch.
func patchOf(p *kopf.Patch) *patch.Patch {
	if engine := bridge.Patch(p); engine != nil {
		return engine
	}
	return patch.NewPatch()
}

func fetch(s state.ProgressStorage, body *kopf.Object, id string) (*kopf.ProgressRecord, error) {
	r, err := s.Fetch(treeOf(body), id)
	if r == nil || err != nil {
		return nil, err
	}
	return &kopf.ProgressRecord{
		Started: r.Started, Stopped: r.Stopped, Delayed: r.Delayed, Purpose: kopf.Reason(r.Purpose), Retries: r.Retries,
		Success: r.Success, Failure: r.Failure, Message: r.Message, Subrefs: r.Subrefs,
	}, nil
}

func store(s state.ProgressStorage, body *kopf.Object, id string, r *kopf.ProgressRecord, p *kopf.Patch) error {
	return s.Store(treeOf(body), id, state.Record{
		Started: r.Started, Stopped: r.Stopped, Delayed: r.Delayed, Purpose: string(r.Purpose), Retries: r.Retries,
		Success: r.Success, Failure: r.Failure, Message: r.Message, Subrefs: r.Subrefs,
	}, patchOf(p))
}

func purge(s state.ProgressStorage, body *kopf.Object, id string, p *kopf.Patch) error {
	return s.Purge(treeOf(body), id, patchOf(p))
}

func touch(s state.ProgressStorage, body *kopf.Object, value string, p *kopf.Patch) error {
	return s.Touch(treeOf(body), value, patchOf(p))
}

// clean puts what is left of an essence in its place.
func clean(s state.ProgressStorage, essence map[string]any) {
	left := maps.Clone(s.Clear(essence))
	clear(essence)
	maps.Copy(essence, left)
}
