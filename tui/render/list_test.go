package render_test

import (
	"testing"

	"github.com/kopf-dev/kopf/tui/render"
)

func TestList_ScrollsAsLittleAsPossible(t *testing.T) {
	var l render.List
	for _, step := range []struct{ d, n, h, cursor, offset int }{
		{+3, 100, 10, 3, 0}, {+4, 100, 10, 7, 0}, {+1, 100, 10, 8, 1}, {-1, 100, 10, 7, 1}, {+1000, 100, 10, 99, 90}, {-1000, 100, 10, 0, 0}, {0, 0, 10, 0, 0},
	} {
		l.Move(step.d, step.n)
		l.Fit(step.n, step.h)
		if l.Cursor != step.cursor || l.Offset != step.offset {
			t.Errorf("by %d of %d: cursor %d, offset %d", step.d, step.n, l.Cursor, l.Offset)
		}
	}
}
