package tui

import (
	"fmt"
	"strings"

	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/tui/internal/canvas"
	"github.com/kopf-dev/kopf/tui/internal/theme"
	"github.com/kopf-dev/kopf/tui/internal/words"
)

// buildView shows the errors of the last build at their places, or how a program died;
// and the reloads.
type buildView struct {
	common *common
	error  int // the selected one
	scroll canvas.Scroll
	starts []int // the line of each error, as drawn last
	height int
}

func (v *buildView) changed() {
	v.error = max(0, min(v.error, len(v.common.world.state.Build.Errors)-1))
}

// selected is the error that is looked at, nil if there is none.
func (v *buildView) selected() *runner.BuildError {
	if b := &v.common.world.state.Build; v.error < len(b.Errors) && b.Phase != runner.BuildBuilt {
		return &b.Errors[v.error]
	}
	return nil
}

// move goes from error to error, or scrolls where there are none.
func (v *buildView) move(d int) {
	n := len(v.common.world.state.Build.Errors)
	if n == 0 {
		v.scroll.Move(d)
		return
	}
	v.error = max(0, min(v.error+d, n-1))
	if v.error < len(v.starts) {
		v.scroll.Offset = max(0, v.starts[v.error]-1)
	}
}

func (v *buildView) page() int       { return v.height - 1 }
func (v *buildView) search() *filter { return nil }

func (v *buildView) click(_, y int) bool {
	for i, at := range v.starts {
		if y+v.scroll.Offset >= at {
			v.error = i
		}
	}
	return false
}

func (v *buildView) answer(l *canvas.Line, short bool) {
	b := v.common.world.state.Build
	word := words.Build(b.Phase)
	l.Put(word.Token, word.String())
	part := func(s string) { l.Also(theme.Dim, s) }
	switch b.Phase {
	case runner.BuildFailed:
		part(words.Count(len(b.Errors), "error"))
		if v.common.world.state.Process.Phase == runner.ProcessRunning && !short {
			part("the operator goes on with the old code")
		}
	case runner.BuildBuilding:
		part("for " + words.Ago(v.common.since(b.Started)))
	case runner.BuildBuilt:
		part("in " + words.Took(b.Took))
		if len(b.History) > 0 && !short {
			part(words.Back(v.common.since(b.History[0].At)))
		}
	}
	if len(b.Files) > 0 && !short {
		part("after " + joined(b.Files))
	}
}

func (v *buildView) body(w, h int) []string {
	v.height = h
	s := v.common.world.state
	all := v.common.pane(w, 1000)
	v.starts = v.starts[:0]
	if s.Build.Phase != runner.BuildBuilt {
		for i := range s.Build.Errors {
			all.Blank()
			v.starts = append(v.starts, all.Len())
			v.drawError(all, &s.Build.Errors[i], i == v.error)
		}
	}
	v.drawCrash(all)
	v.drawReloads(all)
	if all.Len() == 0 {
		all.Blank()
		idle := "nothing was built yet"
		if s.Build.Phase != runner.BuildIdle {
			idle = "no reloads yet: nothing was saved since the start"
		}
		all.Text(theme.Dim, "  "+idle)
	}
	v.scroll.Fit(all.Len(), h)
	p := v.common.pane(w, h)
	p.Add(all.Lines()[v.scroll.Offset:]...)
	return p.Fill()
}

// drawError shows the message, the lines around its place, and the place itself.
func (v *buildView) drawError(p *canvas.Pane, e *runner.BuildError, selected bool) {
	mark := " "
	if selected {
		mark = "▌"
	}
	message := strings.Split(strings.TrimSpace(e.Message), "\n")
	l := p.Line().Put(theme.Accent, mark).Put(theme.Err, "✗ ").Put(theme.Title, e.Position())
	if e.File != "" {
		l.Skip(2)
	}
	p.End(l.Put(theme.Text, message[0]))
	for _, m := range message[1:] {
		p.Text(theme.Text, "     "+strings.TrimSpace(m))
	}
	for i, source := range e.Source {
		n := e.SourceAt + i
		token := theme.Dim
		number := theme.Dim
		if n == e.Line {
			token, number = theme.Text, theme.Err
		}
		p.End(p.Line().Skip(3).Put(number, fmt.Sprintf("%5d ", n)).Put(theme.Faint, "│ ").Put(token, untab(source)))
		if n == e.Line && e.Column > 0 {
			before := untab(source[:min(len(source), e.Column-1)])
			l := p.Line().Skip(9).Put(theme.Faint, "│ ").Skip(canvas.Width(canvas.Clean(before)))
			p.End(l.Put(theme.Err, "^"))
		}
	}
}

// untab makes the source as wide as the caret assumes it to be.
func untab(s string) string { return strings.ReplaceAll(s, "\t", "    ") }

// drawCrash shows how the operator died, if it did.
func (v *buildView) drawCrash(p *canvas.Pane) {
	process := v.common.world.state.Process
	if process.Phase != runner.ProcessCrashed {
		return
	}
	p.Blank()
	l := p.Line().Skip(1).Put(theme.Err, "✗ operator crashed").Skip(2).Put(theme.Dim, process.Exit)
	if process.Restarts > 0 {
		l.Put(theme.Dim, ", "+words.Count(process.Restarts, "restart")+" in a row")
	}
	p.End(l)
	if x := process.Panic; x != nil {
		p.End(p.Line().Skip(3).Put(theme.Text, "panic: "+x.Message))
		if x.File != "" {
			p.End(p.Line().Skip(3).Put(theme.Title, fmt.Sprintf("%s:%d", x.File, x.Line)).Put(theme.Dim, "  in "+x.Function))
		}
		return
	}
	for s := range strings.SplitSeq(strings.TrimSpace(process.Error), "\n") {
		p.End(p.Line().Skip(3).Put(theme.Text, untab(s)))
	}
}

func (v *buildView) drawReloads(p *canvas.Pane) {
	history := v.common.world.state.Build.History
	if len(history) == 0 {
		return
	}
	p.Blank()
	p.Rule("reloads", "")
	for _, r := range history {
		word := words.Build(runner.BuildBuilt)
		if !r.Built {
			word = words.Word{Glyph: "✗", Text: "failed", Token: theme.Err}
		}
		l := p.Line().Skip(1).Put(word.Token, word.Glyph).Skip(1).Cell(theme.Dim, word.Text, 7)
		l.CellRight(theme.Dim, words.Ago(v.common.since(r.At)), 4).Skip(2).CellRight(theme.Text, words.Took(r.Build), 6).Skip(2)
		files := joined(r.Files)
		if files == "" {
			files = "on demand"
		}
		l.Cell(theme.Text, files, max(11, min(40, l.Rest()-32))).Skip(2)
		switch {
		case !r.Built:
			l.Put(theme.Dim, "the old code went on")
		case r.Ready > 0:
			l.Put(theme.Dim, "handling after "+words.Took(r.Ready))
		}
		p.End(l)
	}
}
