package handlers

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

// Tests without a cluster: call the handlers with requests of package kopftest.

func TestCreate_SetsPhaseReady(t *testing.T) {
	c := kopftest.Change[Example](t, "spec: {field: value, items: [a]}")
	if err := create(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if phase := kopftest.Patched(t, c.Patch).Get("status.phase"); phase != "Ready" {
		t.Errorf("the phase is %v", phase)
	}
}

func TestCreate_MissingFieldIsPermanentError(t *testing.T) {
	err := create(t.Context(), kopftest.Change[Example](t, "spec: {items: [a]}"))
	if _, ok := errors.AsType[kopf.PermanentError](err); !ok {
		t.Errorf("the error is not permanent: %v", err)
	}
}

func TestCreate_WaitsForItemsTwice(t *testing.T) {
	c := kopftest.Change[Example](t, "spec: {field: value}")
	if _, ok := errors.AsType[kopf.TemporaryError](create(t.Context(), c)); !ok {
		t.Error("the first attempt returns no temporary error")
	}
	c.Retry = 2
	if err := create(t.Context(), c); err != nil {
		t.Errorf("the third attempt failed: %v", err)
	}
}

func TestCount_ResultHasBothLengths(t *testing.T) {
	c := kopftest.FieldChange[[]string](t, "spec.items", "spec: {items: [a]}", "spec: {items: [a, b]}")
	if err := count(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if got := c.Result.(map[string]int); got["before"] != 1 || got["now"] != 2 {
		t.Errorf("%v", got)
	}
}

// The daemon and the test take turns: the daemon sleeps until the test continues it.
func TestRemind_CountsUntilStopped(t *testing.T) {
	run := kopftest.Daemon[Example](t, "spec: {field: value}")
	run.Start(t.Context(), remind)
	if pause := run.NextSleep(); pause != time.Hour {
		t.Errorf("the daemon sleeps for %s", pause)
	}
	run.Set("spec.field", "other") // the daemon sees this after its sleep
	run.NextSleep()
	if n := run.Object().Get("status.reminders"); n != int64(1) {
		t.Errorf("there are %v reminders after an hour", n)
	}
	if err := run.Stop(kopf.StopFiltersMismatch); err != nil {
		t.Error(err)
	}
	if n := run.Object().Get("status.reminders"); n != nil {
		t.Errorf("the number of reminders was not reset: %v", n)
	}
}

// With synctest, time passes without waiting, for daemons that use the clock.
func TestRemind_OncePerHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run := kopftest.Daemon[Example](t, "spec: {field: value}")
		run.Start(t.Context(), remind)
		time.Sleep(24*time.Hour + time.Minute)
		if n := run.Object().Get("status.reminders"); n != int64(24) {
			t.Errorf("there are %v reminders", n)
		}
	})
}

func TestRemind_ReturnsPatchError(t *testing.T) {
	run := kopftest.Daemon[Example](t, "spec: {field: value}")
	unreachable := errors.New("the cluster is unreachable")
	run.RefusePatch(unreachable)
	run.Start(t.Context(), remind)
	run.NextSleep()
	if err := run.Wait(); !errors.Is(err, unreachable) { // the operator would restart it
		t.Errorf("the daemon returned %v", err)
	}
}
