package kopf

import (
	"context"
	"maps"

	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

// Fetch implements [ProgressStorage].
func (s AnnotationsProgress) Fetch(_ context.Context, body *Object, id string) (*ProgressRecord, error) {
	return fetchRecord(s.engine(), body, id)
}

// Store implements [ProgressStorage].
func (s AnnotationsProgress) Store(_ context.Context, body *Object, id string, record *ProgressRecord, patch *Patch) error {
	return storeRecord(s.engine(), body, id, record, patch)
}

// Purge implements [ProgressStorage].
func (s AnnotationsProgress) Purge(_ context.Context, body *Object, id string, patch *Patch) error {
	return purgeRecord(s.engine(), body, id, patch)
}

// Touch implements [ProgressStorage].
func (s AnnotationsProgress) Touch(_ context.Context, body *Object, value string, patch *Patch) error {
	return touchObject(s.engine(), body, value, patch)
}

// Clean implements [ProgressStorage].
func (s AnnotationsProgress) Clean(essence map[string]any) { cleanEssence(s.engine(), essence) }

// Fetch implements [ProgressStorage].
func (s StatusProgress) Fetch(_ context.Context, body *Object, id string) (*ProgressRecord, error) {
	return fetchRecord(s.engine(), body, id)
}

// Store implements [ProgressStorage].
func (s StatusProgress) Store(_ context.Context, body *Object, id string, record *ProgressRecord, patch *Patch) error {
	return storeRecord(s.engine(), body, id, record, patch)
}

// Purge implements [ProgressStorage].
func (s StatusProgress) Purge(_ context.Context, body *Object, id string, patch *Patch) error {
	return purgeRecord(s.engine(), body, id, patch)
}

// Touch implements [ProgressStorage].
func (s StatusProgress) Touch(_ context.Context, body *Object, value string, patch *Patch) error {
	return touchObject(s.engine(), body, value, patch)
}

// Clean implements [ProgressStorage].
func (s StatusProgress) Clean(essence map[string]any) { cleanEssence(s.engine(), essence) }

// Fetch implements [ProgressStorage].
func (s SmartProgress) Fetch(_ context.Context, body *Object, id string) (*ProgressRecord, error) {
	return fetchRecord(s.engine(), body, id)
}

// Store implements [ProgressStorage].
func (s SmartProgress) Store(_ context.Context, body *Object, id string, record *ProgressRecord, patch *Patch) error {
	return storeRecord(s.engine(), body, id, record, patch)
}

// Purge implements [ProgressStorage].
func (s SmartProgress) Purge(_ context.Context, body *Object, id string, patch *Patch) error {
	return purgeRecord(s.engine(), body, id, patch)
}

// Touch implements [ProgressStorage].
func (s SmartProgress) Touch(_ context.Context, body *Object, value string, patch *Patch) error {
	return touchObject(s.engine(), body, value, patch)
}

// Clean implements [ProgressStorage].
func (s SmartProgress) Clean(essence map[string]any) { cleanEssence(s.engine(), essence) }

func treeOf(body *Object) map[string]any {
	tree, _ := body.Get("").(map[string]any)
	return tree
}

// patchOf returns the engine's form of a patch; for a nil patch, one that is discarded.
func patchOf(p *Patch) *patch.Patch {
	if p == nil {
		return patch.NewPatch()
	}
	return p.patch
}

func fetchRecord(s state.ProgressStorage, body *Object, id string) (*ProgressRecord, error) {
	r, err := s.Fetch(treeOf(body), id)
	if r == nil || err != nil {
		return nil, err
	}
	return publicRecord(r), nil
}

func storeRecord(s state.ProgressStorage, body *Object, id string, r *ProgressRecord, p *Patch) error {
	return s.Store(treeOf(body), id, r.engine(), patchOf(p))
}

func purgeRecord(s state.ProgressStorage, body *Object, id string, p *Patch) error {
	return s.Purge(treeOf(body), id, patchOf(p))
}

func touchObject(s state.ProgressStorage, body *Object, value string, p *Patch) error {
	return s.Touch(treeOf(body), value, patchOf(p))
}

// cleanEssence modifies the essence in place, as [ProgressStorage.Clean] requires.
func cleanEssence(s state.ProgressStorage, essence map[string]any) {
	left := maps.Clone(s.Clear(essence))
	clear(essence)
	maps.Copy(essence, left)
}

func publicRecord(r *state.Record) *ProgressRecord {
	return &ProgressRecord{
		Started: r.Started, Stopped: r.Stopped, Delayed: r.Delayed, Purpose: Reason(r.Purpose), Retries: r.Retries,
		Success: r.Success, Failure: r.Failure, Message: r.Message, Subrefs: r.Subrefs,
	}
}

func (r *ProgressRecord) engine() state.Record {
	return state.Record{
		Started: r.Started, Stopped: r.Stopped, Delayed: r.Delayed, Purpose: string(r.Purpose), Retries: r.Retries,
		Success: r.Success, Failure: r.Failure, Message: r.Message, Subrefs: r.Subrefs,
	}
}
