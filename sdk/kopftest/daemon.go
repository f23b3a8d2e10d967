package kopftest

import (
	"context"
	"testing"

	"github.com/kopf-dev/kopf/sdk/internal/testhooks"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

// A DaemonRun is a daemon that runs in a test, without a cluster. The daemon and the test take turns. The test waits in
// [DaemonRun.NextSleep] until the daemon calls Sleep. Whatever the duration of this Sleep is, it lasts until the test calls
// the next method that continues the daemon. Set, Remove and Replace change the daemon's object; Object, Patches and
// the fields of the Request have the daemon's results.
//
// In a bubble of [testing/synctest], Sleep lasts for its duration by the fake clock. A bubble can also test daemons that
// wait without Sleep. Call [Daemon] inside of the bubble.
//
// The methods fail the test on errors, so they must be called from the test's own goroutine.
type DaemonRun[T any] struct {
	// Request is the daemon's request. Its fields can be changed before Start.
	Request *kopf.DaemonRun[T]

	driver
}

// Daemon returns a run of a daemon, for an object in the formats of [Change]. If the daemon still runs at the end of the
// test, it is stopped. If you call the daemon with the Request instead of calling Start, its first Sleep returns false.
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
	decoded[T](t, viewOf(t, tree)) // an operator does not start a daemon for an object that does not decode
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

// Start calls the daemon in the background. The daemon's context ends with the given context, or with Stop. A daemon that
// has returned can be started again, like a daemon that an operator retries.
func (d *DaemonRun[T]) Start(ctx context.Context, daemon func(context.Context, *kopf.DaemonRun[T]) error) {
	d.t.Helper()
	d.start(ctx, func(ctx context.Context) error { return daemon(ctx, d.Request) })
}
