// Package build is the page with the errors of the last build, the crash of the operator,
// and the reloads.
package build

import (
	"path/filepath"
	"strings"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/viewport"
	tea "charm.land/bubbletea/v2"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/tui/parts"
	"github.com/kopf-dev/kopf/tui/render"
)

// Page is the page of the build.
type Page struct {
	screen *parts.Screen
	editor string // command of the user's editor; empty if none is set
	w, h   int

	selected int   // the selected error
	starts   []int // index of the first line of each error in the last drawing
	viewport viewport.Model
}

// New returns the page. Editor is the command of the user's editor.
func New(s *parts.Screen, editor string) *Page {
	return &Page{screen: s, editor: editor, viewport: viewport.New()}
}

// SetSize sets the size of the page.
func (p *Page) SetSize(w, h int) { p.w, p.h = w, h }

// Filter returns nil: the page has no filter.
func (p *Page) Filter() *parts.Filter { return nil }

// PageRows returns the number of visible rows.
func (p *Page) PageRows() int { return p.h - 1 }

// Refresh keeps the index of the selected error within the number of errors.
func (p *Page) Refresh() { p.selected = max(0, min(p.selected, len(p.build().Errors)-1)) }

// Back reports that there is nothing to leave.
func (p *Page) Back() bool { return false }

func (p *Page) build() *runner.Build { return &p.screen.State.Build }

// selectedError returns the selected error, or nil.
func (p *Page) selectedError() *runner.BuildError {
	if b := p.build(); p.selected < len(b.Errors) && b.Phase != runner.BuildBuilt {
		return &b.Errors[p.selected]
	}
	return nil
}

// Move selects another error, or scrolls if there are none.
func (p *Page) Move(d int) {
	n := len(p.build().Errors)
	if n == 0 {
		p.viewport.SetYOffset(p.viewport.YOffset() + d)
		return
	}
	p.selected = max(0, min(p.selected+d, n-1))
	if p.selected < len(p.starts) {
		p.viewport.SetYOffset(p.starts[p.selected] - 1)
	}
}

// Click selects the error at a place.
func (p *Page) Click(_, y int) (again bool) {
	for i, start := range p.starts {
		if y+p.viewport.YOffset() >= start {
			p.selected = i
		}
	}
	return false
}

// Summary draws the result of the build.
func (p *Page) Summary(l *render.Line, short bool) {
	b := p.build()
	word := explain.BuildWord(b.Phase)
	l.Put(word.Tone, word.String())
	if b.Held != "" {
		held := explain.HeldWord()
		l.Also(held.Tone, held.String()+": b runs it")
	}
	fact := func(s string) { l.Also(explain.Dim, s) }
	switch b.Phase {
	case runner.BuildFailed:
		fact(explain.Count(len(b.Errors), "error"))
		if p.screen.State.Process.Phase == runner.ProcessRunning && !short {
			fact("the operator keeps running the old code")
		}
	case runner.BuildBuilding:
		fact("for " + explain.Ago(p.screen.Since(b.Started)))
	case runner.BuildBuilt:
		fact("in " + explain.Took(b.Took))
		if len(b.History) > 0 && !short {
			fact(explain.Since(p.screen.Since(b.History[0].At)))
		}
	}
	if len(b.Files) > 0 && !short {
		fact("after " + strings.Join(b.Files, ", "))
	}
}

var keys = struct{ edit key.Binding }{edit: parts.Key("o", "open at line")}

// Actions returns the actions of the page.
func (p *Page) Actions() []parts.Action {
	return []parts.Action{
		{Binding: keys.edit, Name: "open $EDITOR at the error", Column: parts.Act, Unavailable: p.noEditor(), Do: p.edit},
	}
}

func (p *Page) noEditor() string {
	switch e := p.selectedError(); {
	case e == nil:
		return "there is no build error"
	case e.File == "":
		return "the error has no file"
	case p.screen.State.Dir == "" || p.editor == "":
		return "$EDITOR is not set"
	}
	return ""
}

func (p *Page) edit() tea.Msg {
	e := p.selectedError()
	file := e.File
	if !filepath.IsAbs(file) {
		file = filepath.Join(p.screen.State.Dir, file)
	}
	return parts.Edit{File: file, Line: e.Line}
}
