package intents

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

func TestClusterReader_ServesNewestEvents(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	stamp := func(i int) string { return start.Add(time.Duration(i) * time.Millisecond).Format(time.RFC3339Nano) }
	var events []map[string]any
	for i := range maxEvents + 10 {
		event := map[string]any{"reason": fmt.Sprint(i), "metadata": map[string]any{"creationTimestamp": stamp(i)}}
		// The time of the first event does not matter if the event was seen again.
		switch i % 4 {
		case 0:
			event["metadata"] = map[string]any{"creationTimestamp": stamp(-1)}
			event["eventTime"], event["lastTimestamp"] = stamp(i), nil
		case 1:
			event["firstTimestamp"], event["lastTimestamp"] = stamp(-1), stamp(i)
		case 2:
			event["eventTime"], event["series"] = stamp(-1), map[string]any{"lastObservedTime": stamp(i)}
		}
		events = append(events, event)
	}
	events = append(events, map[string]any{"reason": "without a time"})
	slices.Reverse(events)
	got := newestEvents(events)
	if len(got) != maxEvents {
		t.Fatalf("%d events are served", len(got))
	}
	for i, event := range got {
		if want := fmt.Sprint(i + 10); event["reason"] != want {
			t.Fatalf("event %d is %v, want %s", i, event["reason"], want)
		}
	}
	if few := newestEvents(got[:2]); len(few) != 2 {
		t.Errorf("of two events, %d are served", len(few))
	}
}
