package explain

import (
	"fmt"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// ChildCounts returns the numbers of ready children and of all children, such as "3/4", and "✗ 3/4" if a child has failed. The text
// is empty for objects without children.
func ChildCounts(o *inspect.Object) (tone Tone, text string) {
	c := o.Children
	if c == nil {
		return Dim, ""
	}
	text = fmt.Sprintf("%d/%d", c.Ready, c.Total)
	switch {
	case c.Failed > 0:
		return Err, "✗ " + text
	case c.Ready < c.Total:
		return Text, text
	}
	return Dim, text
}

// settledChildren describes the readiness of the children after a complete pass, without the period.
func settledChildren(c *inspect.ChildCounts) string {
	if c == nil || c.Ready >= c.Total {
		return "The children are as they were described"
	}
	text := fmt.Sprintf("%d of %s %s ready", c.Ready, pick(c.Total, "1 child", fmt.Sprintf("%d children", c.Total)), pick(c.Total, "is", "are"))
	if c.Failed > 0 {
		text += fmt.Sprintf(", %d %s failed", c.Failed, pick(c.Failed, "has", "have"))
	}
	return text
}
