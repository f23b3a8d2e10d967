package explain

import (
	"fmt"
	"strconv"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// Ago formats how long ago something was, in at most four cells: "now", "41s", "12m", "26h",
// "3d".
func Ago(d time.Duration) string {
	switch {
	case d < time.Second:
		return "now"
	case d < 100*time.Second:
		return strconv.Itoa(int(d/time.Second)) + "s"
	case d < 120*time.Minute:
		return strconv.Itoa(int(d/time.Minute)) + "m"
	case d < 48*time.Hour:
		return strconv.Itoa(int(d/time.Hour)) + "h"
	}
	return strconv.Itoa(int(d/(24*time.Hour))) + "d"
}

// Since is [Ago] for sentences: "41s ago", "just now".
func Since(d time.Duration) string {
	if d < time.Second {
		return "just now"
	}
	return Ago(d) + " ago"
}

// For is [Ago] for a continuing state: "for 28s". It is empty in the first second.
func For(d time.Duration) string {
	if d < time.Second {
		return ""
	}
	return "for " + Ago(d)
}

// In formats how far ahead something is: "in 12s", "now". It rounds up, so that a countdown
// ends with "in 1s" and not with a second of "now".
func In(d time.Duration) string {
	if d <= 0 {
		return "now"
	}
	return "in " + Ago((d + time.Second - 1).Truncate(time.Second))
}

// Took formats how long something lasted, with two or three digits: "24ms", "1.3s", "2m05s".
func Took[D time.Duration | inspect.Duration](length D) string {
	d := time.Duration(length)
	switch {
	case d <= 0:
		return ""
	case d < time.Millisecond:
		return "<1ms"
	case d < time.Second:
		return strconv.Itoa(int(d/time.Millisecond)) + "ms"
	case d < 10*time.Second:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + "s"
	case d < 100*time.Second:
		return strconv.Itoa(int(d/time.Second)) + "s"
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d/time.Minute), int(d/time.Second)%60)
	}
	return fmt.Sprintf("%dh%02dm", int(d/time.Hour), int(d/time.Minute)%60)
}
