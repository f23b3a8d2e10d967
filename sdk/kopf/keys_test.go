package kopf

import (
	"regexp"
	"slices"
	"testing"
)

func TestKeyFor_DiffersByObjectReasonAndPart(t *testing.T) {
	c := &Change[Object]{Request: Request{UID: "u1"}, Reason: ReasonCreate}
	other := &FieldChange[string]{Request: Request{UID: "u2"}, Reason: ReasonCreate}
	update := &Change[Object]{Request: Request{UID: "u1"}, Reason: ReasonUpdate}
	keys := []StepKey{KeyFor(c, "bucket"), KeyFor(c, "grant"), KeyFor(other, "bucket"), KeyFor(update, "bucket"), KeyFor(c, "")}
	for _, key := range keys {
		if !regexp.MustCompile(`^[a-z2-7]{40}$`).MatchString(string(key)) {
			t.Errorf("key %q", key)
		}
	}
	slices.Sort(keys)
	if len(slices.Compact(keys)) != 5 {
		t.Errorf("keys repeat: %q", keys)
	}
	if again := (&Change[Object]{Request: Request{UID: "u1"}, Reason: ReasonCreate}); KeyFor(again, "bucket") != KeyFor(c, "bucket") {
		t.Error("another request for the same creation has another key")
	}
}

// TestKeyFor_IsTheSameInEachRelease holds keys that operators have already given to other systems.
func TestKeyFor_IsTheSameInEachRelease(t *testing.T) {
	key := KeyFor(&Change[Object]{Request: Request{UID: "0f0c1a6e-5c1b-4d58-9b3f-0e4c1d2a7b90"}, Reason: ReasonCreate}, "create-bucket")
	if key != "nxf2ex2y5qr4ee4ojr46s3pb2p3ngyjkj66sg6l3" || key.UUID() != "e251beba-c404-59a8-9728-19a43c37e183" {
		t.Errorf("key %q, UUID %q", key, key.UUID())
	}
}

func TestStepKey_UUID(t *testing.T) {
	if id := StepKey("abc").UUID(); !regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(id) || id == StepKey("abd").UUID() {
		t.Error(id)
	}
}

func TestStepKey_Name(t *testing.T) {
	key := StepKey("abcdefghijklmnopqrstuvwxyz234567abcdefgh")
	for _, test := range []struct {
		prefix string
		limit  int
		want   string
	}{
		{"uploads", 63, "uploads-abcdefghijklmnopqrst"},
		{"My.Uploads_", 63, "my-uploads-abcdefghijklmnopqrst"},
		{"uploads", 25, "uplo-abcdefghijklmnopqrst"},
		{"up-loads", 24, "up-abcdefghijklmnopqrst"},
		{"uploads", 21, "abcdefghijklmnopqrst"},
		{"größe", 63, "gr--e-abcdefghijklmnopqrst"},
		{"", 63, "abcdefghijklmnopqrst"},
		{"uploads", 8, "abcdefgh"},
		{"uploads", -1, ""},
	} {
		if got := key.Name(test.prefix, test.limit); got != test.want {
			t.Errorf("Name(%q, %d) = %q, want %q", test.prefix, test.limit, got, test.want)
		}
	}
}

// TestStepper_OnlyChangeHandlersHaveHandlings: the patches of daemons and timers are their own, so that no patch ends a handling.
func TestStepper_OnlyChangeHandlersHaveHandlings(t *testing.T) {
	for _, request := range []any{&DaemonRun[Object]{}, &TimerTick[Object]{}, &Event[Object]{}, &Pass[Object]{}, &Request{}} {
		if _, ok := request.(Stepper); ok {
			t.Errorf("%T has keys", request)
		}
	}
}
