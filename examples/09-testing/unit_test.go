package handlers

import (
	"errors"
	"testing"

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
