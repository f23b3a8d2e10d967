package kopf

import (
	"context"
	"log/slog"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
)

// Activity is the request of the operator's own handlers: [OnStartup], [OnCleanup],
// [OnProbe] and [OnLogin].
type Activity struct {
	Attempt

	// Settings are the operator's, with the defaults of times and names filled in. What
	// startup handlers change takes effect; later changes do not.
	Settings *Settings

	Memo     *Memo // the operator's
	Logger   *slog.Logger
	Recorder *Recorder // only for others: see [Recorder.For]
	Param    any
}

// OnStartup registers a handler to be called before the operator talks to the
// cluster. If it fails for good, the operator does not start. It is tried again by the
// rules of its errors, and the start waits. See the chapter "Startup" of Kopf's
// documentation.
func OnStartup(r *Registry, fn func(context.Context, *Activity) error, opts ...ActivityOption) {
	add(r, handlers.Startup, Selector{}, fn, callActivity(withoutResult(fn)), applyAll(opts, ActivityOption.activity))
}

// OnCleanup registers a handler to be called when everything else has stopped. The
// operator waits for it, without a limit: its context ends only by its [Timeout]. If the
// start has failed, there is no cleanup. See the chapter "Shutdown" of Kopf's documentation.
func OnCleanup(r *Registry, fn func(context.Context, *Activity) error, opts ...ActivityOption) {
	add(r, handlers.Cleanup, Selector{}, fn, callActivity(withoutResult(fn)), applyAll(opts, ActivityOption.activity))
}

// OnProbe registers a handler of health checks: what it returns is reported as JSON
// under the handler's id. The checks are made through [Settings.Process].Liveness. See the
// chapter "Health-checks" of Kopf's documentation.
func OnProbe[V any](r *Registry, fn func(context.Context, *Activity) (V, error), opts ...ActivityOption) {
	call := callActivity(func(ctx context.Context, a *Activity) (any, error) {
		value, err := fn(ctx, a)
		if err != nil {
			return nil, err
		}
		return result(value)
	})
	add(r, handlers.Probe, Selector{}, fn, call, applyAll(opts, ActivityOption.activity))
}

// OnLogin registers a source of credentials, called at the start and whenever there
// are no valid ones left; nil means it has none. Without any such handler, the operator
// uses [LoginWithServiceAccount], or if that has none, [LoginWithKubeconfig]. See the
// chapter "Authentication" of Kopf's documentation.
func OnLogin(r *Registry, fn func(context.Context, *Activity) (*ConnectionInfo, error), opts ...ActivityOption) {
	add(r, handlers.Login, Selector{}, fn, callActivity(loginResult(fn)), applyAll(opts, ActivityOption.activity))
}

func withoutResult(fn func(context.Context, *Activity) error) func(context.Context, *Activity) (any, error) {
	return func(ctx context.Context, a *Activity) (any, error) { return nil, fn(ctx, a) }
}

// callActivity calls a handler that is not about an object.
func callActivity(fn func(context.Context, *Activity) (any, error)) caller {
	return caller{invoke: func(ctx context.Context, call *handlers.Call) (any, error) {
		settings, _ := call.Extra.(*Settings)
		memo, _ := call.Memo.(*Memo)
		return fn(ctx, &Activity{
			Attempt:  attemptOf(call),
			Settings: settings,
			Memo:     memo,
			Logger:   call.Logger,
			Recorder: recorderOf(call.Recorder),
			Param:    call.Handler.Param,
		})
	}}
}
