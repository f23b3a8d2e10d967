package parts

import (
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/tui/model"
	"github.com/kopf-dev/kopf/tui/render"
)

// DrawVerdict draws the sentence about an object in at most n lines. It has the colour of
// the object's state, unless that is good news.
func DrawVerdict(s *Screen, b *render.Block, o *inspect.Object, n int) {
	tone := model.WordOf(o).Tone
	if tone == model.OK || tone == model.Dim {
		tone = model.Text
	}
	b.Prose(tone, model.Verdict(o, s.Now, s.State.HeldOf(o)), n)
}
