package engine

import (
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
)

func all(string) bool { return true }

func TestFailuresAreCountedUntilSuccess(t *testing.T) {
	f, began := indexFailures{}, time.Unix(1000, 0)
	delay := time.Minute
	f.Note("x", handlers.Outcome{Err: errBoom, Delay: &delay}, began, began)
	f.Note("x", handlers.Outcome{Err: errBoom, Delay: &delay}, began.Add(delay), began.Add(delay))
	if got := f["x"]; got.Retries != 2 || !got.Started.Equal(began) || !got.Until.Equal(began.Add(2*delay)) {
		t.Errorf("%+v", got)
	}
	f.Note("x", handlers.Outcome{Final: true}, began.Add(2*delay), began.Add(2*delay))
	if len(f) > 0 {
		t.Errorf("a success is remembered: %+v", f)
	}
}

func TestAnObjectIsExcludedForTheDelayOrForGood(t *testing.T) {
	f, now := indexFailures{}, time.Unix(1000, 0)
	delay := time.Minute
	f.Note("delayed", handlers.Outcome{Err: errBoom, Delay: &delay}, now, now)
	f.Note("at once", handlers.Outcome{Err: errBoom, Delay: new(time.Duration)}, now, now)
	f.Note("for good", handlers.Outcome{Err: errBoom, Final: true}, now, now)
	for id, want := range map[string][2]bool{
		"delayed": {true, false}, "at once": {false, false}, "for good": {true, true}, "unknown": {false, false},
	} {
		if got := [2]bool{f[id].Excluded(now), f[id].Excluded(now.Add(time.Hour))}; got != want {
			t.Errorf("%s: excluded now and later: %v", id, got)
		}
	}
	if due, waiting := f.Next(all); !waiting || !due.Equal(now.Add(delay)) {
		t.Errorf("due at %v, %v", due, waiting)
	}
	if due, waiting := f.Next(func(id string) bool { return id != "delayed" }); waiting {
		t.Errorf("what the object is not for is due at %v", due)
	}
}

func TestNothingIsDueWithoutADelay(t *testing.T) {
	f, now := indexFailures{}, time.Unix(1000, 0)
	f.Note("x", handlers.Outcome{Err: errBoom}, now, now)
	f.Note("y", handlers.Outcome{Err: errBoom, Final: true}, now, now)
	if due, waiting := f.Next(all); waiting {
		t.Errorf("due at %v", due)
	}
}
