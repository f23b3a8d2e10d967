package engine

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// changesOf are the differences as the inspector shows them. A new object has none: all
// of it is new.
func changesOf(cause *handlers.Cause) []inspect.DiffItem {
	if cause.Old == nil {
		return nil
	}
	items := make([]inspect.DiffItem, len(cause.Diff))
	for i, item := range cause.Diff {
		items[i] = inspect.DiffItem{Op: string(item.Op), Path: item.Path.String(), Old: item.Old, New: item.New}
	}
	return items
}

// described are differences as the log shows them. They are put into words only if
// somebody reads them.
type described object.Diff

func (d described) String() string {
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

// payload is the body of a request as the log shows it.
type payload struct{ body any }

func (p payload) String() string {
	text, err := json.Marshal(p.body)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
