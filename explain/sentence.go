package explain

import (
	"strings"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// sentence returns a message without blanks at its ends and without its final period.
func sentence(message string) string {
	return strings.TrimRight(strings.TrimSpace(message), ".")
}

// ErrorText formats the error of an attempt. If the number of attempts, the time or a denial
// ended the attempts, the kind of the error precedes the message.
func ErrorText(e *inspect.HandlerError) string {
	switch e.Kind {
	case inspect.ErrorRetries:
		return "gave up: " + e.Message
	case inspect.ErrorTimeout:
		return "out of time: " + e.Message
	case inspect.ErrorAdmission:
		return "denied: " + e.Message
	case inspect.ErrorArbitrary, inspect.ErrorTemporary, inspect.ErrorPanic, "":
		return e.Message
	}
	return string(e.Kind) + ": " + e.Message
}

// list is an enumeration: "a", "a and b", "a, b and c".
func list(items []string) string {
	switch n := len(items); n {
	case 0:
		return ""
	case 1:
		return items[0]
	default:
		return strings.Join(items[:n-1], ", ") + " and " + items[n-1]
	}
}

func pick(n int, one, more string) string {
	if n == 1 {
		return one
	}
	return more
}

func ids(o *inspect.Object, want func(*inspect.HandlerState) bool) []string {
	var found []string
	for i := range o.Handlers {
		if h := &o.Handlers[i]; want(h) {
			found = append(found, h.ID)
		}
	}
	return found
}
