package kopf

import (
	"context"
	"fmt"

	"github.com/kopf-dev/kopf/sdk/internal/bridge"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

func init() {
	bridge.Progress = func(s any) state.ProgressStorage { return engineProgress(s.(ProgressStorage)) }
	bridge.DiffBase = func(s any) state.DiffBaseStorage { return engineDiffBase(s.(DiffBaseStorage)) }
}

// engineProgress returns the engine's form of a storage: its own, for those of package
// storage, and an adapter for all others.
func engineProgress(s ProgressStorage) state.ProgressStorage {
	if s == nil {
		return state.NewSmartProgress()
	}
	if bridge.BuiltinProgress != nil {
		if builtin := bridge.BuiltinProgress(s); builtin != nil {
			return builtin
		}
	}
	return customProgress{custom: s, where: unbound()}
}

func engineDiffBase(s DiffBaseStorage) state.DiffBaseStorage {
	if s == nil {
		return state.NewAnnotationsDiffBase()
	}
	if bridge.BuiltinDiffBase != nil {
		if builtin := bridge.BuiltinDiffBase(s); builtin != nil {
			return builtin
		}
	}
	return customDiffBase{custom: s, where: unbound()}
}

// where is the cycle that a storage is used in. The engine's storages need none, as they
// do nothing but look into trees; users' storages talk to databases.
type where struct {
	ctx  context.Context // it lives for one cycle, as the storage bound to it
	body *Object         // nil outside of a cycle
}

func unbound() where { return where{ctx: context.Background()} }

// boundTo survives the stop of the operator: what is done must be recorded.
func boundTo(ctx context.Context, object *object.Object) where {
	return where{ctx: context.WithoutCancel(ctx), body: objectOfWire(object)}
}

func (w where) bodyOf(tree map[string]any) *Object {
	if w.body != nil {
		return w.body
	}
	return objectOfTree(tree)
}

// customProgress makes a user's storage one of the engine.
type customProgress struct {
	custom ProgressStorage
	where
}

// BindProgress implements reactor.ProgressBinder.
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
	return &state.Record{
		Started: r.Started, Stopped: r.Stopped, Delayed: r.Delayed, Purpose: string(r.Purpose), Retries: r.Retries,
		Success: r.Success, Failure: r.Failure, Message: r.Message, Subrefs: r.Subrefs,
	}, nil
}

func (s customProgress) Store(object map[string]any, id string, r state.Record, p *patch.Patch) error {
	body := s.bodyOf(object)
	return s.failed(s.custom.Store(s.ctx, body, id, &ProgressRecord{
		Started: r.Started, Stopped: r.Stopped, Delayed: r.Delayed, Purpose: Reason(r.Purpose), Retries: r.Retries,
		Success: r.Success, Failure: r.Failure, Message: r.Message, Subrefs: r.Subrefs,
	}, &Patch{patch: p, body: body}))
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

// customDiffBase makes a user's storage one of the engine.
type customDiffBase struct {
	custom DiffBaseStorage
	where
}

// BindDiffBase implements reactor.DiffBaseBinder.
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
