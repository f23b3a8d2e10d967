package engine

import (
	"slices"
	"testing"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

func TestHotLoop_SameFieldAgainAndAgain(t *testing.T) {
	var l hotLoop
	rounds := 0
	for !l.follow() || !l.note([]string{"spec.a", "status.n"}, alarmRounds) {
		if rounds++; rounds > 100 {
			t.Fatal("it is not recognised")
		}
	}
	if l.rounds != alarmRounds || !slices.Equal(l.fields, []string{"spec.a", "status.n"}) {
		t.Errorf("%+v", l)
	}
	l.follow()
	if !l.note([]string{"status.n", "status.other"}, alarmRounds) || !slices.Equal(l.fields, []string{"status.n"}) {
		t.Errorf("%+v", l)
	}
	l.follow()
	if l.note([]string{"spec.b"}, alarmRounds) || l.rounds != 0 {
		t.Errorf("another field continues the loop: %+v", l)
	}
}

func TestTouches_FieldsAndTheirParts(t *testing.T) {
	merge := map[string]any{"metadata": map[string]any{"annotations": map[string]any{"own/progress": nil}}, "status": map[string]any{"kopf": map[string]any{"progress": "x"}}}
	for path, want := range map[string]bool{
		"metadata.annotations.own/progress": true, "metadata.annotations.other": false, "metadata.annotations": true, "status.kopf.progress.deep": true, "spec": false,
	} {
		p, err := object.ParsePath(path)
		if path == "metadata.annotations.own/progress" {
			p, err = object.Path{"metadata", "annotations", "own/progress"}, nil
		}
		if err != nil || touches(merge, p) != want {
			t.Errorf("%s: %v, %v", path, !want, err)
		}
	}
}
