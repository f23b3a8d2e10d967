package parts

import (
	"strings"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/tui/render"
)

// DrawObjectBeside draws the detail of an object beside a list.
func DrawObjectBeside(s *Screen, b *render.Block, o *inspect.Object) {
	w := explain.WordOf(o)
	name := render.CutMiddle(render.Clean(o.Name), b.W-render.Width(w.String())-4)
	b.End(b.Line().Skip(1).Put(explain.Title, name).Right(w.Tone, w.String()))
	facts := []string{o.Kind, o.Namespace, "v" + o.ResourceVersion, explain.Ago(s.Since(o.Created)) + " old"}
	if o.Namespace == "" {
		facts = append(facts[:1], facts[2:]...)
	}
	if render.Width(strings.Join(facts, " · "))+2 > b.W {
		facts[0] = o.Short
	}
	b.End(b.Line().Skip(1).Put(explain.Dim, strings.Join(facts, " · ")))
	if owner := s.State.OwnerOf(o); owner != nil {
		b.End(b.Line().Skip(1).Put(explain.Dim, "└ child of "+owner.Kind+" "+owner.Name))
	}
	b.Blank()
	DrawVerdict(s, b, o, 5)
	DrawPlanMark(s, b, o.Ref, 6)
	if o.Cause != nil && len(o.Cause.Diff) > 0 {
		b.Blank()
		drawDiff(b, o.Cause.Diff, 4)
	}
	b.Blank()
	Decisions{s, b, true}.Draw(o)
}

// DrawObjectBeneath draws the detail of an object beneath a list: the verdict and the called
// handlers. All other handlers share one line.
func DrawObjectBeneath(s *Screen, b *render.Block, o *inspect.Object) {
	DrawVerdict(s, b, o, 2)
	DrawPlanMark(s, b, o.Ref, 0)
	var out []string
	handlers := explain.CalledFirst(o)
	for _, h := range handlers {
		if explain.IsNotCalled(h) {
			out = append(out, s.State.NameOf(h))
		}
	}
	space := b.Rest()
	if len(out) > 0 {
		space--
	}
	w := handlerNameWidth(s, handlers, 18)
	for _, h := range handlers {
		if space == 0 || explain.IsNotCalled(h) {
			break
		}
		if h.Parent != "" {
			continue // the parent of the sub-handler has the same error
		}
		space--
		drawHandlerLine(s, b, o, h, w)
	}
	if len(out) > 0 {
		b.End(b.Line().Skip(1).Put(explain.Dim, "· not called: "+strings.Join(out, ", ")).Put(explain.Faint, "  w why"))
	}
}

func drawHandlerLine(s *Screen, b *render.Block, o *inspect.Object, h *inspect.HandlerState, nameWidth int) {
	word := explain.HandlerWordOf(h)
	l := b.Line().Skip(1).Put(word.Tone, word.Glyph).Skip(1).Cell(explain.Text, s.State.NameOf(h), nameWidth).Skip(1)
	l.Cell(word.Tone, word.Text, 10).Skip(1).Cell(explain.Dim, explain.Try(h), 5).Skip(1)
	l.Put(explain.Dim, Note(s, o, h))
	b.End(l.Right(explain.Dim, s.State.SourceOf(h.ID)))
}
