package engine

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// loggedDiff formats a diff for log lines, when it is printed.
type loggedDiff object.Diff

func (d loggedDiff) String() string {
	words := make([]string, len(d))
	for i, item := range d {
		switch item.Op {
		case object.DiffAdd:
			words[i] = fmt.Sprintf("+%s=%v", item.Path, item.New)
		case object.DiffRemove:
			words[i] = fmt.Sprintf("-%s=%v", item.Path, item.Old)
		default:
			words[i] = fmt.Sprintf("~%s=%v→%v", item.Path, item.Old, item.New)
		}
	}
	return strings.Join(words, " ")
}

// loggedPayload formats the body of a request for log lines, when it is printed.
type loggedPayload struct{ body any }

func (p loggedPayload) String() string {
	text, err := json.Marshal(p.body)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
