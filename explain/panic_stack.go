package explain

import (
	"strconv"
	"strings"
)

// stackAttribute is the attribute of a log message with the stack of a panic.
const stackAttribute = " stack="

// CutStack separates a log message from the stack of a panic in it: quoted in one line it
// cannot be read, and hides the message. The stack is nil if there is none.
func CutStack(message string) (rest string, stack []string) {
	before, quoted, found := strings.Cut(message, stackAttribute)
	if !found {
		return message, nil
	}
	literal, err := strconv.QuotedPrefix(quoted)
	if err != nil {
		return message, nil // not ours: it stays as it is
	}
	text, err := strconv.Unquote(literal)
	if err != nil {
		return message, nil
	}
	after := strings.TrimPrefix(quoted, literal)
	return before + after, strings.Split(strings.TrimSpace(strings.ReplaceAll(text, "\t", "    ")), "\n")
}
