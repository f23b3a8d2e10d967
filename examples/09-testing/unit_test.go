package handlers

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

// Without a cluster: handlers are functions, and requests can be made by hand.

func TestANewExampleIsReady(t *testing.T) {
	c := kopftest.Change[Example](t, "spec: {field: value, items: [a]}")
	if err := create(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if phase := kopftest.Patched(t, c.Patch).Get("status.phase"); phase != "Ready" {
		t.Errorf("the phase is %v", phase)
	}
}

func TestAnExampleWithoutTheFieldIsRefusedForGood(t *testing.T) {
	err := create(t.Context(), kopftest.Change[Example](t, "spec: {items: [a]}"))
	if _, ok := errors.AsType[kopf.PermanentError](err); !ok {
		t.Errorf("it is not permanent: %v", err)
	}
}

func TestItemsAreWaitedForButNotForEver(t *testing.T) {
	c := kopftest.Change[Example](t, "spec: {field: value}")
	if _, ok := errors.AsType[kopf.TemporaryError](create(t.Context(), c)); !ok {
		t.Error("the first attempt does not wait")
	}
	c.Retry = 2
	if err := create(t.Context(), c); err != nil {
		t.Errorf("the third attempt fails: %v", err)
	}
}

func TestItemsAreCounted(t *testing.T) {
	c := kopftest.FieldChange[[]string](t, "spec.items", "spec: {items: [a]}", "spec: {items: [a, b]}")
	if err := count(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if got := c.Result.(map[string]int); got["before"] != 1 || got["now"] != 2 {
		t.Errorf("%v", got)
	}
}

// A daemon and its test take turns: it sleeps until the test lets it go on.
func TestRemindersAreCountedUntilTheDaemonIsStopped(t *testing.T) {
	run := kopftest.Daemon[Example](t, "spec: {field: value}")
	run.Start(t.Context(), remind)
	if pause := run.NextSleep(); pause != time.Hour {
		t.Errorf("it sleeps for %s", pause)
	}
	run.Set("spec.field", "other") // what it sees when it wakes up
	run.NextSleep()
	if n := run.Object().Get("status.reminders"); n != int64(1) {
		t.Errorf("there are %v reminders after an hour", n)
	}
	if err := run.Stop(kopf.StopFiltersMismatch); err != nil {
		t.Error(err)
	}
	if n := run.Object().Get("status.reminders"); n != nil {
		t.Errorf("%v reminders are left behind", n)
	}
}

// In a bubble, time passes by itself, for daemons that look at the clock.
func TestThereAreAsManyRemindersADayAsItHasHours(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run := kopftest.Daemon[Example](t, "spec: {field: value}")
		run.Start(t.Context(), remind)
		time.Sleep(24*time.Hour + time.Minute)
		if n := run.Object().Get("status.reminders"); n != int64(24) {
			t.Errorf("there are %v reminders", n)
		}
	})
}

func TestADaemonThatCannotSendItsPatchFails(t *testing.T) {
	run := kopftest.Daemon[Example](t, "spec: {field: value}")
	away := errors.New("the cluster is away")
	run.RefusePatch(away)
	run.Start(t.Context(), remind)
	run.NextSleep()
	if err := run.Wait(); !errors.Is(err, away) { // and the framework starts it again
		t.Errorf("it ends with %v", err)
	}
}
