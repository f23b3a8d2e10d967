package object

import (
	"fmt"
	"time"
)

// timeLayouts are the accepted notations: RFC 3339, without a time zone, with a short one,
// and with a space in the middle.
var timeLayouts = []string{
	"2006-01-02T15:04:05Z07:00",
	"2006-01-02T15:04:05",
	"2006-01-02T15:04:05Z0700",
	"2006-01-02T15:04:05Z07",
	"2006-01-02 15:04:05Z07:00",
	"2006-01-02 15:04:05",
	"2006-01-02T15:04Z07:00",
	"2006-01-02T15:04",
	"2006-01-02",
}

// FormatTime returns a time in UTC with microseconds, as Python's isoformat returns it for
// aware times: 2020-12-31T23:59:59.123456+00:00.
func FormatTime(t time.Time) string {
	return t.UTC().Format("2006-01-02T15:04:05.000000+00:00")
}

// ParseTime parses a time in ISO 8601. The time zone defaults to UTC. As in Python, only the years
// 1 to 9999 in UTC are times, which are those that [FormatTime] can write.
func ParseTime(s string) (time.Time, error) {
	var first error
	for _, layout := range timeLayouts {
		t, err := time.Parse(layout, s)
		if t = t.UTC(); err == nil && (t.Year() < 1 || t.Year() > 9999) {
			return time.Time{}, fmt.Errorf("invalid time: %s is not within the years 1 to 9999", s)
		}
		if err == nil {
			return t, nil
		}
		if first == nil {
			first = err
		}
	}
	return time.Time{}, fmt.Errorf("invalid time: %w", first)
}
