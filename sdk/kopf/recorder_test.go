package kopf_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

func TestRecorder_NilPostsNothing(t *testing.T) {
	var c kopf.Change[kopf.Object] // as made by hand, in tests
	c.Recorder.Info("Reason", "message")
	c.Recorder.Warn("Reason", "message")
	c.Recorder.Error("Reason", errors.New("broken"))
	c.Recorder.Error("Reason", nil)
	c.Recorder.Event("Type", "Reason", "message")
	c.Recorder.For(tree{"kind": "Pod"}, &Job{}, object(t, manifest)).Info("Reason", "message")
}

func TestRecorder_ForRejectsOthers(t *testing.T) {
	var c kopf.Change[kopf.Object]
	if got := panics(t, func() { c.Recorder.For("text") }); !strings.Contains(got, "Recorder.For: string: want a map[string]any") {
		t.Errorf("got %s", got)
	}
}
