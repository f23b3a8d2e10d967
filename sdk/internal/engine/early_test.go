package engine

import (
	"log/slog"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/observe"
)

func TestEarlyEvents_KeptUntilPosterIsKnown(t *testing.T) {
	e := &early{}
	rec := &Recorder{early: e, level: slog.LevelDebug, now: time.Now}
	about := rec.About(observe.ObjectReference{Kind: "Pod", Name: "x"})
	for range maxEarly + 1 {
		about.Record(slog.LevelInfo, "Normal", "Started", "text")
	}
	if len(e.kept) != maxEarly {
		t.Errorf("%d are kept", len(e.kept))
	}
	if dropped := e.begin(nil); dropped != 1 {
		t.Errorf("%d are dropped", dropped)
	}
	about.Unleveled("Normal", "Later", "text") // nothing is to be posted: that is no failure
}
