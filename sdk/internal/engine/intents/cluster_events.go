package intents

import (
	"slices"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// maxEvents is how many events about an object are served: an object with more has a problem that the newest ones show.
const maxEvents = 500

// eventTimes are the fields with the time when an event of the API group "" was seen last; the first one that is set
// counts.
var eventTimes = []object.Path{
	{"series", "lastObservedTime"}, {"lastTimestamp"}, {"eventTime"}, {"firstTimestamp"}, {"metadata", "creationTimestamp"},
}

// newestEvents returns the newest of some events, at most maxEvents, with the oldest one first. It sorts the given ones.
func newestEvents(events []map[string]any) []map[string]any {
	slices.SortStableFunc(events, func(a, b map[string]any) int { return seenLast(a).Compare(seenLast(b)) })
	return events[max(0, len(events)-maxEvents):]
}

// seenLast returns when an event was seen last; the zero time if it does not say.
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
