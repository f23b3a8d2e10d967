package kopf

import (
	"context"
	"log/slog"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kopf-dev/kopf/sdk/internal/daemons"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/testhooks"
)

// Daemon registers a function that runs in the background of each object for as long as the
// object exists and matches the filters. The object has the operator's finalizer, so that it
// does not disappear while its daemons run.
//
// A daemon that returns nil is not started again while the operator runs; to restart it,
// return [Temporaryf]. Other errors are treated as with all handlers, but attempts are counted
// in memory: a restart of the operator starts the count again. See [Daemons].
//
// [Daemons]: https://github.com/kopf-dev/kopf/blob/main/docs/daemons-and-timers.md#daemons
func Daemon[T any](r *Registry, resource Selector, fn func(context.Context, *DaemonRun[T]) error, opts ...DaemonOption) {
	add(r, handlers.Daemon, resource, fn, callDaemon(fn), applyAll(opts, DaemonOption.daemon))
}

// DaemonRun is the request of a [Daemon]: one run of the daemon. Its methods return the current state of the object, so
// call them again instead of keeping the object. The methods are safe for concurrent use.
//
// A daemon ends in steps. First it is asked to finish: [DaemonRun.Stopping] closes and [DaemonRun.Sleep] returns
// false. After the Backoff of its [Cancellation], by default at once, its context is cancelled with the [StopReason]
// as the cause. After the Timeout, by default never, the operator abandons the daemon and releases the object. See
// [How a daemon ends].
//
// [How a daemon ends]: https://github.com/kopf-dev/kopf/blob/main/docs/daemons-and-timers.md#how-a-daemon-ends
type DaemonRun[T any] struct {
	Resource        ResourceInfo
	Namespace, Name string
	UID             types.UID
	Patch           *Patch // changes of the object; sent by [DaemonRun.Apply] and when the daemon returns, even with an error
	Memo            *Memo
	Logger          *slog.Logger
	Recorder        *Recorder
	Param           any
	Attempt
	Result any // see [Change.Result]

	task testhooks.Task // nil in a request constructed in a test, unless package kopftest drives the request
	send func(context.Context) error
	last lastGood[T]
}

// Object returns the newest version of the object that decodes into T. A daemon does not start before a version decodes.
// If a newer version does not decode, the operator logs and skips it. The object must not be modified, because all daemons
// of the object share it. It is nil in a request constructed in a test.
func (d *DaemonRun[T]) Object() *T {
	object, err := d.last.of(d.task)
	if err != nil {
		d.Logger.Warn("The object does not fit into the handler's type; the daemon keeps the last version that did",
			observe.EventKey, observe.LogHandlerMisfit, "error", err)
	}
	return object
}

// Body returns the newest version of the object as the API server sent it. It is nil in a request constructed in a
// test.
func (d *DaemonRun[T]) Body() *Object {
	if d.task == nil {
		return nil
	}
	return liveBody(d.task)
}

// Labels returns the object's current labels.
func (d *DaemonRun[T]) Labels() map[string]string { return d.strings("labels") }

// Annotations returns the object's current annotations.
func (d *DaemonRun[T]) Annotations() map[string]string { return d.strings("annotations") }

func (d *DaemonRun[T]) strings(stanza string) map[string]string {
	tree, err := d.Body().contents()
	if err != nil {
		d.Logger.Warn("The object is not valid JSON; the daemon sees no labels and annotations", observe.EventKey, observe.LogHandlerMisfit, "error", err)
	}
	return stringsAt(tree, stanza)
}

// Changed returns a channel that closes when a newer version of the object arrives. Get the channel before you read
// the object, so that no change is missed. It is nil in a request constructed in a test.
func (d *DaemonRun[T]) Changed() <-chan struct{} {
	if d.task == nil {
		return nil
	}
	return d.task.Newer()
}

// Stopping returns a channel that closes when the daemon is asked to finish. It is nil in a request constructed in a
// test.
func (d *DaemonRun[T]) Stopping() <-chan struct{} {
	if d.task == nil {
		return nil
	}
	return d.task.Stopping()
}

// Sleep blocks for the duration and returns true. It returns false as soon as the daemon is asked to finish, so that it
// can be the condition of a loop:
//
//	for d.Sleep(10 * time.Second) {
//		...
//	}
//
// In a request constructed in a test, it returns false at once.
func (d *DaemonRun[T]) Sleep(duration time.Duration) bool {
	if d.task == nil {
		return false
	}
	return d.task.Sleep(duration)
}

// StopReason returns the reasons for which the daemon was asked to finish; 0 if it was not.
// More reasons can be added later.
func (d *DaemonRun[T]) StopReason() StopReason {
	if d.task == nil {
		return 0
	}
	return StopReason(d.task.Reason())
}

// Apply sends and empties the Patch while the daemon continues. Afterwards, [DaemonRun.Object] has the changes. Apply
// returns the error of the request, and nil if the object no longer exists. Unsent changes stay in the Patch for the next
// call.
func (d *DaemonRun[T]) Apply(ctx context.Context) error {
	if d.send == nil {
		return nil
	}
	return d.send(ctx)
}

// attach binds d to a running task. The Patch of d adds to p, and Apply calls send.
func (d *DaemonRun[T]) attach(task testhooks.Task, p *patch.Patch, send func(context.Context) error) {
	d.task, d.send = task, send
	d.Patch = &Patch{patch: p, live: func() *Object { return liveBody(task) }}
}

// StopReason is a set of reasons for which a daemon is asked to finish. It is an error because
// it is the cause of the cancellation of the daemon's context: see [context.Cause].
type StopReason uint8

// The reasons to finish.
const (
	StopFiltersMismatch StopReason = 1 << iota // the object no longer matches the filters
	StopResourceDeleted                        // the object is being deleted, or no longer exists
	StopOperatorPausing                        // the operator is paused
	StopOperatorExiting                        // the operator stops
)

// Has reports whether s contains the reason, or at least one of several reasons.
func (s StopReason) Has(reason StopReason) bool { return s&reason != 0 }

// Error returns the list of reasons.
func (s StopReason) Error() string { return daemons.Reason(s).Error() }
