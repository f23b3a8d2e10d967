package build

import (
	"strings"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/tui/render"
)

func (p *Page) drawReloads(b *render.Block) {
	history := p.build().History
	if len(history) == 0 {
		return
	}
	b.Blank()
	b.Rule("reloads", "")
	for _, r := range history {
		b.End(p.putReload(b.Line(), r))
	}
}

func (p *Page) putReload(l *render.Line, r runner.Reload) *render.Line {
	word := explain.BuildWord(runner.BuildBuilt)
	if !r.Built {
		word = explain.Word{Glyph: "✗", Text: "failed", Tone: explain.Err}
	}
	l.Skip(1).Put(word.Tone, word.Glyph).Skip(1).Cell(explain.Dim, word.Text, 7)
	l.CellRight(explain.Dim, explain.Ago(p.screen.Since(r.At)), 4).Skip(2).CellRight(explain.Text, explain.Took(r.Build), 6).Skip(2)
	files := strings.Join(r.Files, ", ")
	if files == "" {
		files = "on demand"
	}
	l.Cell(explain.Text, files, max(11, min(40, l.Rest()-32))).Skip(2)
	switch {
	case !r.Built:
		l.Put(explain.Dim, "the old code kept running")
	case r.Ready > 0:
		l.Put(explain.Dim, "handling after "+explain.Took(r.Ready))
	}
	return l
}
