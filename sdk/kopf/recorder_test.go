package kopf_test

import (
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

func TestRecorder_NilPostsNothing(t *testing.T) {
	var c kopf.Change[kopf.Object] // as a test constructs it
	c.Recorder.Info("Reason", "message")
	c.Recorder.Warn("Reason", "message")
	c.Recorder.Error("Reason", errors.New("broken"))
	c.Recorder.Error("Reason", nil)
	c.Recorder.Event("Type", "Reason", "message")
	others, err := c.Recorder.For(tree{"kind": "Pod"}, &metav1.PartialObjectMetadata{}, object(t, manifest))
	if err != nil {
		t.Fatal(err)
	}
	others.Info("Reason", "message")
}

func TestRecorder_ForRejectsOthers(t *testing.T) {
	var c kopf.Change[kopf.Object]
	if rec, err := c.Recorder.For("text"); rec != nil || err == nil || !strings.HasPrefix(err.Error(), "make a recorder of events: string: want a map[string]any") {
		t.Errorf("got %v, %v", rec, err)
	}
}
