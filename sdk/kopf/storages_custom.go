package kopf

import (
	"cmp"
	"context"
	"fmt"

	"github.com/kopf-dev/kopf/sdk/internal/bridge"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

func init() {
	bridge.PatchOf = func(p any) *patch.Patch {
		if public := p.(*Patch); public != nil {
			return public.patch
		}
		return patch.NewPatch()
	}
}

// engineProgress converts a storage for the engine. It unwraps built-in storages, and adapts user-defined storages. If the
// storage is nil, it returns the default storage with the prefix.
func engineProgress(s ProgressStorage, prefix string) state.ProgressStorage {
	switch s := s.(type) {
	case nil:
		if prefix != "" {
			return &state.AnnotationsProgress{Prefix: prefix, TouchKey: "touch-dummy", V1: true}
		}
		return state.NewSmartProgress()
	case bridge.Progress:
		return s.Engine(func(part any) state.ProgressStorage {
			storage, _ := part.(ProgressStorage)
			return engineProgress(storage, prefix)
		})
	default:
		return customProgress{s, unbound()}
	}
}

// engineDiffBase is engineProgress for diff bases.
func engineDiffBase(s DiffBaseStorage, prefix string) state.DiffBaseStorage {
	switch s := s.(type) {
	case nil:
		base := state.NewAnnotationsDiffBase()
		base.Prefix = cmp.Or(prefix, base.Prefix)
		return base
	case bridge.DiffBase:
		return s.Engine(func(part any) state.DiffBaseStorage {
			storage, _ := part.(DiffBaseStorage)
			return engineDiffBase(storage, prefix)
		})
	default:
		return customDiffBase{s, unbound()}
	}
}

// cycleBinding binds a user-defined storage to a cycle. Unlike the engine's storages, user-defined storages get a context,
// because they may use databases.
type cycleBinding struct {
	ctx  context.Context // context of the cycle; the bound storage is only used in this cycle
	body *Object         // nil outside of a cycle
}

func unbound() cycleBinding { return cycleBinding{ctx: context.Background()} }

// boundTo returns a binding to a cycle. The context does not end when the operator stops, so that finished work is
// recorded. If there is no object, the storage gets the tree that the engine passes to each call.
func boundTo(ctx context.Context, object *object.Object) cycleBinding {
	b := cycleBinding{ctx: context.WithoutCancel(ctx)}
	if object != nil {
		b.body = objectOfWire(object)
	}
	return b
}

func (b cycleBinding) bodyOf(tree map[string]any) *Object {
	if b.body != nil {
		return b.body
	}
	return objectOfTree(tree)
}

// customProgress adapts a user's storage to the engine.
type customProgress struct {
	custom ProgressStorage
	cycleBinding
}

// BindProgress implements state.ProgressBinder.
func (s customProgress) BindProgress(ctx context.Context, object *object.Object) state.ProgressStorage {
	return customProgress{s.custom, boundTo(ctx, object)}
}

func (s customProgress) Fetch(object map[string]any, id string) (*state.Record, error) {
	r, err := s.custom.Fetch(s.ctx, s.bodyOf(object), id)
	if err != nil {
		return nil, fmt.Errorf("%T: %w", s.custom, err)
	}
	if r == nil {
		return nil, nil
	}
	record := r.engine()
	return &record, nil
}

func (s customProgress) Store(object map[string]any, id string, r state.Record, p *patch.Patch) error {
	body := s.bodyOf(object)
	return s.failed(s.custom.Store(s.ctx, body, id, publicRecord(&r), &Patch{patch: p, body: body}))
}

func (s customProgress) Purge(object map[string]any, id string, p *patch.Patch) error {
	body := s.bodyOf(object)
	return s.failed(s.custom.Purge(s.ctx, body, id, &Patch{patch: p, body: body}))
}

func (s customProgress) Touch(object map[string]any, value string, p *patch.Patch) error {
	body := s.bodyOf(object)
	return s.failed(s.custom.Touch(s.ctx, body, value, &Patch{patch: p, body: body}))
}

func (s customProgress) Clear(e map[string]any) map[string]any {
	e = object.CloneMap(e)
	s.custom.Clean(e)
	return state.WithoutEmpty(e)
}

func (s customProgress) failed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%T: %w", s.custom, err)
}

// customDiffBase adapts a user's storage to the engine.
type customDiffBase struct {
	custom DiffBaseStorage
	cycleBinding
}

// BindDiffBase implements state.DiffBaseBinder.
func (s customDiffBase) BindDiffBase(ctx context.Context, object *object.Object) state.DiffBaseStorage {
	return customDiffBase{s.custom, boundTo(ctx, object)}
}

func (s customDiffBase) Essence(obj map[string]any, extra []object.Path) map[string]any {
	built := object.CloneMap(state.BuildEssence(obj, extra, nil))
	return s.custom.Essence(s.bodyOf(obj), built)
}

func (s customDiffBase) Fetch(obj map[string]any) (map[string]any, error) {
	last, err := s.custom.Fetch(s.ctx, s.bodyOf(obj))
	if err != nil {
		return nil, fmt.Errorf("%T: %w", s.custom, err)
	}
	if last == nil {
		return nil, nil
	}
	plain, err := object.Normalize(last)
	if err != nil {
		return nil, fmt.Errorf("%T: %w", s.custom, err)
	}
	return plain.(map[string]any), nil
}

func (s customDiffBase) Store(object map[string]any, _ []byte, last map[string]any, _ []object.Path, p *patch.Patch) error {
	body := s.bodyOf(object)
	if err := s.custom.Store(s.ctx, body, last, &Patch{patch: p, body: body}); err != nil {
		return fmt.Errorf("%T: %w", s.custom, err)
	}
	return nil
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
