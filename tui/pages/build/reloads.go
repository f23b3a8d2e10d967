package build

import (
	"strings"

	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/tui/model"
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
	word := model.BuildWord(runner.BuildBuilt)
	if !r.Built {
		word = model.Word{Glyph: "✗", Text: "failed", Tone: model.Err}
	}
	l.Skip(1).Put(word.Tone, word.Glyph).Skip(1).Cell(model.Dim, word.Text, 7)
	l.CellRight(model.Dim, model.Ago(p.screen.Since(r.At)), 4).Skip(2).CellRight(model.Text, model.Took(r.Build), 6).Skip(2)
	files := strings.Join(r.Files, ", ")
	if files == "" {
		files = "on demand"
	}
	l.Cell(model.Text, files, max(11, min(40, l.Rest()-32))).Skip(2)
	switch {
	case !r.Built:
		l.Put(model.Dim, "the old code kept running")
	case r.Ready > 0:
		l.Put(model.Dim, "handling after "+model.Took(r.Ready))
	}
	return l
}
