package observe

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/internal/vectors"
)

var at = time.Date(2020, 12, 31, 23, 59, 59, 0, time.FixedZone("east", 3600))

func TestObjectReference_EventsOfBothGroups(t *testing.T) {
	for apiVersion, want := range map[string]bool{"v1": true, "events.k8s.io/v1": true, "calendars.example.com/v1": false} {
		if got := (ObjectReference{APIVersion: apiVersion, Kind: "Event"}).AboutEvent(); got != want {
			t.Errorf("%s: got %v, want %v", apiVersion, got, want)
		}
	}
}

func TestNewKubernetesEvent_NoneAboutCoreEvents(t *testing.T) {
	if got := NewKubernetesEvent(ObjectReference{APIVersion: "v1", Kind: "Event", Name: "x"}, EventContent{At: at}, ""); got != nil {
		t.Errorf("got %+v", got)
	}
}

func TestNewKubernetesEvent_TimesAlwaysHaveMicroseconds(t *testing.T) {
	event := NewKubernetesEvent(ObjectReference{APIVersion: "v1", Kind: "Pod"}, EventContent{At: at}, "")
	if want := "2020-12-31T22:59:59.000000Z"; event.EventTime != want {
		t.Errorf("got %q, want %q", event.EventTime, want)
	}
}

func TestCutMessage_RemovesTheMiddleBetweenCharacters(t *testing.T) {
	for _, filler := range []string{"m", "é", "世", "🙂"} {
		for shift := range 4 {
			message := strings.Repeat("x", shift) + strings.Repeat(filler, 1025) + strings.Repeat("y", shift)
			got := CutMessage(message)
			if len(got) > 1024 || len(got) < 1024-6 || !utf8.ValidString(got) || !strings.Contains(got, "...") {
				t.Errorf("%s: got %d bytes: %q", filler, len(got), got)
			}
		}
	}
}

func TestReferenceOf_OmitsEmptyFields(t *testing.T) {
	got := ReferenceOf(map[string]any{"apiVersion": "v1", "kind": "Node", "metadata": map[string]any{"name": "n", "uid": nil}})
	text, err := json.Marshal(got)
	if want := `{"apiVersion":"v1","kind":"Node","name":"n"}`; err != nil || string(text) != want {
		t.Errorf("got %s, %v, want %s", text, err, want)
	}
}

func TestVectors_KubernetesEvents(t *testing.T) {
	type posted struct {
		URL     string         `json:"url"`
		Payload map[string]any `json:"payload"`
	}
	type vector struct {
		Ref     ObjectReference `json:"ref"`
		Context *string         `json:"context_namespace"`
		Message string          `json:"message"`
		Posted  []posted        `json:"posted"`
	}
	vectors.Run(t, "k8s_events.json", func(_ *testing.T, v *vector) error {
		context := ""
		if v.Context != nil {
			context = *v.Context
		}
		event := NewKubernetesEvent(v.Ref, EventContent{Type: Normal, Reason: "R", Message: v.Message, At: at}, context)
		if event == nil || len(v.Posted) == 0 {
			if event != nil || len(v.Posted) > 0 {
				return fmt.Errorf("got %+v", event)
			}
			return nil
		}
		path, err := event.Path()
		if err != nil {
			return err
		}
		text, err := json.Marshal(event)
		if err != nil {
			return err
		}
		var payload map[string]any
		if err := json.Unmarshal(text, &payload); err != nil {
			return err
		}
		for _, key := range []string{"firstTimestamp", "lastTimestamp", "eventTime"} {
			payload[key] = "<now>"
		}
		want := v.Posted[0]
		message, _ := want.Payload["message"].(string)
		tooLong := len(message) > 1024 && utf8.RuneCountInString(message) <= 1024
		if tooLong {
			want.Payload["message"] = payload["message"]
		}
		if path != want.URL {
			return fmt.Errorf("path: got %q", path)
		}
		if diff := cmp.Diff(want.Payload, payload); diff != "" {
			return errors.New(diff)
		}
		if tooLong {
			return vectors.Differs("the API counts the bytes of a message and would refuse this one")
		}
		return nil
	})
}
