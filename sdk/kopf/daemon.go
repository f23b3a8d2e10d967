package kopf

import (
	"context"
	"log/slog"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kopf-dev/kopf/sdk/internal/bridge"
	"github.com/kopf-dev/kopf/sdk/internal/daemons"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
)

// DaemonRun is the request of [Daemon]: one run of it. Its methods look at the object as
// it is now: what they return is a snapshot, so call them again rather than keep it. They
// are safe for concurrent use. See the chapters "Daemons" and "Arguments" of Kopf's
// documentation.
//
// A daemon ends in steps. First it is asked to: [DaemonRun.Stopping] closes and
// [DaemonRun.Sleep] returns false. After [CancellationBackoff], by default at once,
// its context is cancelled, with the [StopReason] as the cause. After another
// [CancellationTimeout], if there is one, it is abandoned, and the object released.
type DaemonRun[T any] struct {
	Resource        ResourceInfo
	Namespace, Name string
	UID             types.UID
	Patch           *Patch // sent when the daemon returns, also with an error, or by [DaemonRun.Apply]
	Memo            *Memo
	Logger          *slog.Logger
	Recorder        *Recorder
	Param           any
	Attempt
	Result any // as in [Change]

	task bridge.Task // nil in a request that is made by hand, unless package kopftest drives it
	send func(context.Context) error
	last lastGood[T]
}

// Object returns the newest version of the object that decodes into T; if none ever did,
// the daemon is not started. A newer one that does not is logged and passed over. Do not
// modify it: all who look at the same version share it, the object's other daemons, too.
func (d *DaemonRun[T]) Object() *T {
	object, err := d.last.of(d.task)
	if err != nil {
		d.Logger.Warn("The object does not fit into the handler's type: the daemon sees its last version that did.", "error", err)
	}
	return object
}

// Body returns the newest version of the object as Kubernetes sent it.
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
		d.Logger.Warn("The object does not decode.", "error", err)
	}
	return stringsAt(tree, stanza)
}

// Changed returns a channel that closes when the object is newer than it is now: get
// it before you look at the object, so that no change is missed. In a request made by hand
// it is nil.
func (d *DaemonRun[T]) Changed() <-chan struct{} {
	if d.task == nil {
		return nil
	}
	return d.task.Newer()
}

// Stopping returns a channel that closes when the daemon should finish. In a request
// made by hand it is nil.
func (d *DaemonRun[T]) Stopping() <-chan struct{} {
	if d.task == nil {
		return nil
	}
	return d.task.Stopping()
}

// Sleep waits for a while. It returns true when the time is over, and false at
// once when the daemon should finish, so that it makes a loop:
//
//	for d.Sleep(10 * time.Second) {
//		...
//	}
func (d *DaemonRun[T]) Sleep(duration time.Duration) bool {
	if d.task == nil {
		return false
	}
	return d.task.Sleep(duration)
}

// StopReason tells why the daemon should finish, or 0 if it should not yet. There may be
// several reasons, and more of them later.
func (d *DaemonRun[T]) StopReason() StopReason {
	if d.task == nil {
		return 0
	}
	return StopReason(d.task.Reason())
}

// Apply sends what is in the Patch, and empties it, while the daemon goes on. The error
// is that of the request; what could not be sent stays in the Patch and goes with the next
// one. An object that is gone is no error. Afterwards, [DaemonRun.Object] has the changes.
func (d *DaemonRun[T]) Apply(ctx context.Context) error {
	if d.send == nil {
		return nil
	}
	return d.send(ctx)
}

// attach makes it the run of a task.
func (d *DaemonRun[T]) attach(task bridge.Task, p *patch.Patch, send func(context.Context) error) {
	d.task, d.send = task, send
	d.Patch = &Patch{patch: p, live: func() *Object { return liveBody(task) }}
}

func (d *DaemonRun[T]) owner() *Object { return d.Body() }

// A StopReason is a set of reasons for a daemon to finish. It is an error, since it is the
// cause of the cancellation of the daemon's context: see [context.Cause].
type StopReason uint8

// The reasons to finish.
const (
	StopFiltersMismatch StopReason = 1 << iota // the object no longer matches the filters
	StopResourceDeleted                        // the object is being deleted, or is gone
	StopOperatorPausing                        // the operator is not to handle objects for a while
	StopOperatorExiting                        // the operator ends
)

// Has tells whether the reason is in the set; of several, whether one of them is.
func (s StopReason) Has(reason StopReason) bool { return s&reason != 0 }

// Error lists the reasons.
func (s StopReason) Error() string { return daemons.Reason(s).Error() }

// TimerTick is the request of [Timer]: one tick, with the object as it was when
// the tick began. The attempts are those of this tick. Its context ends with it, or when the
// timer is to end, with the [StopReason] as the cause. See the chapters "Timers" and
// "Arguments" of Kopf's documentation.
type TimerTick[T any] struct {
	Request
	Attempt

	Object *T  // the handler's own copy; a tick whose object does not decode fails for good
	Result any // as in [Change]
}

// Daemon runs fn in the background for as long as the object exists and matches
// the filters. A daemon that returns nil is not started again while the operator
// runs; to restart it, return [Temporaryf]. Other errors are as with all handlers, but its
// attempts are counted in memory: a restarted operator counts anew. See the chapter
// "Daemons" of Kopf's documentation.
//
// The object is kept from vanishing until its daemons are done.
func Daemon[T any](r *Registry, resource Selector, fn func(context.Context, *DaemonRun[T]) error, opts ...DaemonOption) {
	add(r, handlers.Daemon, resource, fn, callDaemon(fn), applyAll(opts, DaemonOption.daemon))
}

// Timer calls fn again and again for as long as the object exists and matches the
// filters. It needs [Interval], [Idle] or both. A tick that fails is tried again by the
// rules of its error; one that fails for good is the last of its object. Ticks never
// overlap. See the chapter "Timers" of Kopf's documentation.
func Timer[T any](r *Registry, resource Selector, fn func(context.Context, *TimerTick[T]) error, opts ...TimerOption) {
	c := applyAll(opts, TimerOption.timer)
	if c.Handler.Interval == nil && c.Handler.Idle == nil {
		c.fail("a timer needs kopf.Interval, kopf.Idle or both")
	}
	add(r, handlers.Timer, resource, fn, callTimer(fn), c)
}
