package parts

import (
	"fmt"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/tui/render"
)

// chip is one of the states at the right of the header.
type chip struct {
	page   PageKey // page that the chip opens; empty if it opens none
	word   explain.Word
	detail string
}

// DrawHeader draws the first line: the developed packages, and the states of the operator, the build and the cluster.
func DrawHeader(s *Screen, b *render.Block, title string, current PageKey) {
	chips := []chip{operatorChip(s), buildChip(s), clusterChip(s)}
	if s.State.Attached != "" {
		chips = []chip{operatorChip(s), clusterChip(s)}
	}
	width := func(level int) (n int) {
		for _, ch := range chips {
			n += ch.width(level)
		}
		return n
	}
	title = render.Clean(title)
	level := withDetails
	for level < withGlyphs && width(level)+render.Width(" kopf "+title)+2 > b.W {
		level++
	}
	l := b.Line().Skip(1).Put(explain.Title, "kopf").Skip(1)
	l.Put(explain.Dim, render.CutStart(title, b.W-width(level)-l.Used()-2))
	l.To(b.W - width(level) - 1)
	for _, ch := range chips {
		from := l.Used() + 2
		ch.draw(l, level, ch.page != "" && ch.page == current)
		if ch.page != "" {
			s.Clicks.Add(0, from, l.Used(), string(ch.page))
		}
	}
	b.End(l)
}

func operatorChip(s *Screen) chip {
	ch := chip{word: explain.OperatorWord(s.State.State)}
	switch p := s.State.Process; {
	case p.Phase == runner.ProcessCrashed && !p.RestartAt.IsZero():
		ch.detail = "starts " + explain.In(p.RestartAt.Sub(s.Now))
	case s.State.Live && s.State.Snapshot != nil && s.State.Snapshot.Operator.CatchUp != nil:
		c := s.State.Snapshot.Operator.CatchUp
		ch.detail = "catching up: " + explain.Thousands(c.Handled) + " of " + explain.Thousands(c.Objects)
	case p.Phase == runner.ProcessRunning && !p.Started.IsZero():
		ch.detail = explain.Ago(s.Since(p.Started))
	}
	return ch
}

func buildChip(s *Screen) chip {
	b := s.State.Build
	ch := chip{page: BuildPage, word: explain.BuildWord(b.Phase)}
	switch b.Phase {
	case runner.BuildBuilt:
		if b.Held != "" {
			ch.word = explain.HeldWord()
		}
		ch.detail = explain.Took(b.Took)
	case runner.BuildFailed:
		ch.detail = explain.Count(len(b.Errors), "error")
	case runner.BuildBuilding:
		ch.detail = explain.Ago(s.Since(b.Started))
	}
	return ch
}

func clusterChip(s *Screen) chip {
	c := s.State.Cluster
	ch := chip{page: ClusterPage, word: s.State.ClusterWord(), detail: c.Version}
	switch {
	case c.Phase == runner.ClusterReady && s.State.Lost() == "":
		ch.word.Text = c.Provider
	case c.Phase == runner.ClusterBuilding && c.Total > 0:
		ch.detail = fmt.Sprintf("%d/%d", c.Done, c.Total)
	}
	return ch
}

// The levels of detail of the header. Each level omits more, for narrower screens.
const (
	withDetails = iota
	withKeys
	withWords
	withGlyphs // only glyphs, but words for problems
)

func (ch chip) width(level int) int {
	n := 2 + 1
	if level < withGlyphs || !ch.word.Quiet() {
		n += 1 + render.Width(ch.word.Text)
	}
	if level < withWords && ch.page != "" {
		n += 2
	}
	if level < withKeys && ch.detail != "" {
		n += 1 + render.Width(ch.detail)
	}
	return n
}

func (ch chip) draw(l *render.Line, level int, current bool) {
	l.Skip(2)
	if level < withWords && ch.page != "" {
		l.Put(explain.Dim, string(ch.page)+" ")
	}
	l.Put(ch.word.Tone, ch.word.Glyph)
	if level < withGlyphs || !ch.word.Quiet() {
		tone := ch.word.Tone
		switch {
		case current:
			tone = explain.Accent
		case ch.word.Quiet():
			tone = explain.Text
		}
		l.Skip(1).Put(tone, ch.word.Text)
	}
	if level < withKeys && ch.detail != "" {
		l.Put(explain.Dim, " "+ch.detail)
	}
}
