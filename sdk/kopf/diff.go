package kopf

import (
	"fmt"
	"strings"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// Diff is a list of differences, in no particular order.
type Diff []DiffItem

// DiffItem is one difference. A nil value means that the value is absent. The values have the types that [Object.Get]
// returns, and must not be modified. In a [FieldChange], the path is relative to the field, and empty for the field
// itself.
type DiffItem struct {
	Path     Path
	Old, New any
}

// Under returns the differences at a path and below it, with unchanged paths.
func (d Diff) Under(path Path) Diff {
	if path == "" {
		return d
	}
	var under Diff
	for _, item := range d {
		rest, ok := strings.CutPrefix(string(item.Path), string(path))
		if ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			under = append(under, item)
		}
	}
	return under
}

// String returns the differences in one line, for logs.
func (d Diff) String() string {
	words := make([]string, len(d))
	for i, item := range d {
		switch {
		case item.Old == nil:
			words[i] = fmt.Sprintf("+%s=%v", item.Path, item.New)
		case item.New == nil:
			words[i] = fmt.Sprintf("-%s=%v", item.Path, item.Old)
		default:
			words[i] = fmt.Sprintf("~%s=%v→%v", item.Path, item.Old, item.New)
		}
	}
	return "[" + strings.Join(words, " ") + "]"
}

func diffOf(d object.Diff) Diff {
	if d == nil {
		return nil
	}
	out := make(Diff, len(d))
	for i, item := range d {
		out[i] = DiffItem{Path: Path(item.Path.String()), Old: item.Old, New: item.New}
	}
	return out
}
