package build

import (
	"fmt"
	"strings"

	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/tui/model"
	"github.com/kopf-dev/kopf/tui/render"
)

// maxLines is more than there is to say about any build.
const maxLines = 1000

// View draws the page.
func (p *Page) View() string {
	if p.w < 1 || p.h < 1 {
		return ""
	}
	b := p.screen.Block(p.w, maxLines)
	p.starts = p.starts[:0]
	if build := p.build(); build.Phase != runner.BuildBuilt {
		for i := range build.Errors {
			b.Blank()
			p.starts = append(p.starts, b.Len())
			drawError(b, &build.Errors[i], i == p.selected)
		}
	}
	p.drawCrash(b)
	p.drawReloads(b)
	if b.Len() == 0 {
		b.Blank()
		idle := "nothing was built yet"
		if p.build().Phase != runner.BuildIdle {
			idle = "no reloads yet: nothing was saved since the start"
		}
		b.Text(model.Dim, "  "+idle)
	}
	p.viewport.SetWidth(p.w)
	p.viewport.SetHeight(p.h)
	p.viewport.SetContentLines(b.Lines())
	return p.viewport.View()
}

// drawError draws the place of an error, its message, and the source around it.
func drawError(b *render.Block, e *runner.BuildError, selected bool) {
	mark := " "
	if selected {
		mark = "▌"
	}
	message := strings.Split(strings.TrimSpace(e.Message), "\n")
	l := b.Line().Put(model.Accent, mark).Put(model.Err, "✗ ").Put(model.Title, e.Position())
	if e.File != "" {
		l.Skip(2)
	}
	b.End(l.Put(model.Text, message[0]))
	for _, m := range message[1:] {
		b.Text(model.Text, "     "+strings.TrimSpace(m))
	}
	for i, source := range e.Source {
		n := e.SourceAt + i
		text, number := model.Dim, model.Dim
		if n == e.Line {
			text, number = model.Text, model.Err
		}
		b.End(b.Line().Skip(3).Put(number, fmt.Sprintf("%5d ", n)).Put(model.Faint, "│ ").Put(text, expandTabs(source)))
		if n == e.Line && e.Column > 0 {
			before := expandTabs(source[:min(len(source), e.Column-1)])
			l := b.Line().Skip(9).Put(model.Faint, "│ ").Skip(render.Width(render.Clean(before)))
			b.End(l.Put(model.Err, "^"))
		}
	}
}

// expandTabs replaces tabs, so that the caret is beneath its column.
func expandTabs(s string) string { return strings.ReplaceAll(s, "\t", "    ") }

// drawCrash draws how the operator crashed, if it did.
func (p *Page) drawCrash(b *render.Block) {
	process := p.screen.State.Process
	if process.Phase != runner.ProcessCrashed {
		return
	}
	b.Blank()
	l := b.Line().Skip(1).Put(model.Err, "✗ operator crashed").Skip(2).Put(model.Dim, process.Exit)
	if process.Restarts > 0 {
		l.Put(model.Dim, ", "+model.Count(process.Restarts, "restart")+" in a row")
	}
	b.End(l)
	if x := process.Panic; x != nil {
		b.End(b.Line().Skip(3).Put(model.Text, "panic: "+x.Message))
		if x.File != "" {
			b.End(b.Line().Skip(3).Put(model.Title, fmt.Sprintf("%s:%d", x.File, x.Line)).Put(model.Dim, "  in "+x.Function))
		}
		return
	}
	for line := range strings.SplitSeq(strings.TrimSpace(process.Error), "\n") {
		b.End(b.Line().Skip(3).Put(model.Text, expandTabs(line)))
	}
}

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
