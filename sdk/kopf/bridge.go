package kopf

import (
	"context"

	"github.com/kopf-dev/kopf/sdk/internal/bridge"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

func init() {
	bridge.Patch = func(p any) *patch.Patch {
		if p := p.(*Patch); p != nil {
			return p.patch
		}
		return nil
	}
	bridge.PatchBase = func(p any) (map[string]any, error) {
		if p := p.(*Patch); p != nil {
			return p.base()
		}
		return nil, nil
	}
	bridge.Attach = func(run any, task bridge.Task, p *patch.Patch, send func(context.Context) error) {
		type attachable interface {
			attach(task bridge.Task, p *patch.Patch, send func(context.Context) error)
		}
		run.(attachable).attach(task, p, send)
	}
	bridge.Progress = func(s any) state.ProgressStorage { return engineProgress(s.(ProgressStorage)) }
	bridge.NewRecorder = func(poster bridge.Poster) any { return &Recorder{poster} }
	bridge.PosterOf = func(r any) bridge.Poster {
		if r := r.(*Recorder); r != nil {
			return r.engine
		}
		return nil
	}
	bridge.Handlers = func(r any) *handlers.Registry { return &r.(*Registry).registry }
	bridge.DefaultSettings = func() any {
		settings := Settings{}.filled()
		return &settings
	}
}
