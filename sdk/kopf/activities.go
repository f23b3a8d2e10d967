package kopf

import (
	"context"
	"log/slog"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
)

// Activity is the request of handlers for the operator itself: [OnStartup], [OnCleanup], [OnProbe]
// and [OnLogin]. See [Activities].
//
// [Activities]: https://github.com/kopf-dev/kopf/blob/main/docs/activities.md
type Activity struct {
	Attempt

	// Settings are the operator's settings, with defaults for times and names. Changes by startup handlers take effect,
	// except changes of Process.Inspector. Later changes have no effect.
	Settings *Settings

	Memo     *Memo // the operator's memo
	Logger   *slog.Logger
	Recorder *Recorder // bound to no object; use [Recorder.For] to choose an object
	Param    any       // value of the [Param] option
}

// OnStartup registers a handler that is called before the operator sends any request to the cluster. The operator starts
// after the handler succeeded. If the handler fails permanently, the operator does not start. See [Activities].
//
// [Activities]: https://github.com/kopf-dev/kopf/blob/main/docs/activities.md
func OnStartup(r *Registry, fn func(context.Context, *Activity) error, opts ...ActivityOption) {
	add(r, handlers.Startup, Selector{}, fn, callActivity(withoutResult(fn)), applyAll(opts, ActivityOption.activity))
}

// OnCleanup registers a handler that is called after everything else has stopped, unless the start failed. Its context
// ends after its [TotalTimeout], and at the latest [ProcessSettings].ForcedExitTimeout after the operator was asked to
// stop. If the handler ignores the end of its context for longer than [QueueingSettings].ExitTimeout, the operator
// abandons it. If the handler fails permanently, [Operator.Run] returns the error. See [Activities].
//
// [Activities]: https://github.com/kopf-dev/kopf/blob/main/docs/activities.md
func OnCleanup(r *Registry, fn func(context.Context, *Activity) error, opts ...ActivityOption) {
	add(r, handlers.Cleanup, Selector{}, fn, callActivity(withoutResult(fn)), applyAll(opts, ActivityOption.activity))
}

// OnProbe registers a handler that is called at a request to the liveness endpoint: see [ProcessSettings].Liveness. The
// response has the returned value as JSON under the handler's id. The operator reuses values for 10s. If the handler
// fails permanently, the response is 500. See [Health].
//
// [Health]: https://github.com/kopf-dev/kopf/blob/main/docs/activities.md#health
func OnProbe[V any](r *Registry, fn func(context.Context, *Activity) (V, error), opts ...ActivityOption) {
	call := callActivity(func(ctx context.Context, a *Activity) (any, error) {
		value, err := fn(ctx, a)
		return result(new(any(value)), err)
	})
	add(r, handlers.Probe, Selector{}, fn, call, applyAll(opts, ActivityOption.activity))
}

// OnLogin registers a handler that returns credentials, or nil if it has none. It is called at the
// first request, and whenever no valid credentials are left. Without login handlers, the operator
// uses [LoginWithServiceAccount], or else [LoginWithKubeconfig]. See [Logging in].
//
// [Logging in]: https://github.com/kopf-dev/kopf/blob/main/docs/activities.md#logging-in
func OnLogin(r *Registry, fn func(context.Context, *Activity) (*ConnectionInfo, error), opts ...ActivityOption) {
	add(r, handlers.Login, Selector{}, fn, callActivity(loginResult(fn)), applyAll(opts, ActivityOption.activity))
}

func withoutResult(fn func(context.Context, *Activity) error) func(context.Context, *Activity) (any, error) {
	return func(ctx context.Context, a *Activity) (any, error) { return nil, fn(ctx, a) }
}

// callActivity calls a handler for the operator itself.
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
