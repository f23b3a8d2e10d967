package intents

import (
	"sort"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// maxEvents limits the events about an object. The newest ones are enough to diagnose an object with more.
const maxEvents = 500

// eventTimes are the fields with the last time of an event of the API group "". The first field that is set counts.
var eventTimes = []object.Path{
	{"series", "lastObservedTime"}, {"lastTimestamp"}, {"eventTime"}, {"firstTimestamp"}, {"metadata", "creationTimestamp"},
}

// newestEvents returns the newest events, at most maxEvents, oldest first. It sorts the given slice.
func newestEvents(events []map[string]any) []map[string]any {
	sort.SliceStable(events, func(i, j int) bool { return seenLast(events[i]).Before(seenLast(events[j])) })
	return events[max(0, len(events)-maxEvents):]
}

// seenLast returns the last time of an event; the zero time if the event has none.
func seenLast(event map[string]any) time.Time {
	for _, path := range eventTimes {
		value, _ := object.Lookup(event, path)
		text, _ := value.(string)
		if at, err := time.Parse(time.RFC3339Nano, text); err == nil {
			return at
		}
	}
	return time.Time{}
}
