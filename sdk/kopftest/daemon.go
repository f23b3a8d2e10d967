package kopftest

import (
	"context"
	"testing"

	"github.com/kopf-dev/kopf/sdk/internal/testhooks"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

// A DaemonRun is a daemon that runs in a test, without a cluster. The daemon and the test take turns: the test waits
// in [DaemonRun.NextSleep] until the daemon calls Sleep; that Sleep then lasts until the next call, however long its duration
// is. Set, Remove and Replace change the daemon's object; Object, Patches and the fields of the
// Request show the daemon's results.
//
// Inside of [testing/synctest], Sleep lasts its real duration by the clock of the bubble, and daemons that wait in other ways can be tested too: make the run inside of the bubble.
//
// The methods fail the test on errors, so they must be called from the test's own goroutine.
type DaemonRun[T any] struct {
	// Request is the daemon's request. Its fields can be changed before Start.
	Request *kopf.DaemonRun[T]

	driver
}

// Daemon makes the run of a daemon, for an object as with [Change]. At the end of the test, it is stopped if it still
// runs. If you call the daemon with the Request instead of starting it, its first Sleep returns false.
//
//	run := kopftest.Daemon[Claim](t, "spec: {size: 1Gi}")
//	run.Start(t.Context(), watchOver)
//	if pause := run.NextSleep(); pause != time.Minute {
//		t.Errorf("it sleeps for %s", pause)
//	}
//	run.Set("spec.size", "2Gi")
//	run.NextSleep() // now it has seen that
//	if err := run.Stop(kopf.StopResourceDeleted); err != nil {
//		t.Error(err)
//	}
//	if size := run.Object().Get("status.size"); size != "2Gi" {
//		t.Errorf("the size is %v", size)
//	}
func Daemon[T any](t testing.TB, object any) *DaemonRun[T] {
	t.Helper()
	tree := treeOf(t, object)
	decoded[T](t, viewOf(t, tree)) // else it would not be started
	r := requestOf(t, viewOf(t, tree))
	d := &DaemonRun[T]{
		Request: &kopf.DaemonRun[T]{
			Resource: r.Resource, Namespace: r.Namespace, Name: r.Name, UID: r.UID,
			Memo: r.Memo, Logger: r.Logger, Recorder: r.Recorder, Attempt: firstAttempt(),
		},
		driver: newDriver(t, tree),
	}
	testhooks.AttachTask(d.Request, d.stage, d.stage.patch, d.stage.apply)
	t.Cleanup(d.end)
	return d
}

// Start calls the daemon in the background: with a context that ends as the given one, or
// with Stop. A daemon that has returned can be started again, as one that is tried again is.
func (d *DaemonRun[T]) Start(ctx context.Context, daemon func(context.Context, *kopf.DaemonRun[T]) error) {
	d.t.Helper()
	d.start(ctx, func(ctx context.Context) error { return daemon(ctx, d.Request) })
}
