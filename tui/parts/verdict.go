package parts

import (
	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/tui/render"
)

// DrawVerdict draws the sentence about an object in at most n lines. It has the colour of the
// object's state, unless the state is good news.
func DrawVerdict(s *Screen, b *render.Block, o *inspect.Object, n int) {
	tone := explain.WordOf(o).Tone
	if tone == explain.OK || tone == explain.Dim {
		tone = explain.Text
	}
	b.Prose(tone, s.State.VerdictOf(o, s.Now, s.State.HeldOf(o)), n)
}
