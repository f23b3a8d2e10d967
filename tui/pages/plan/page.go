// Package plan is the page with the changes that the saved code would make to the objects of the cluster.
package plan

import (
	"fmt"
	"strings"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/tui/parts"
	"github.com/kopf-dev/kopf/tui/render"
)

// Page is the page of the plan.
type Page struct {
	screen *parts.Screen
	w, h   int

	plan   *parts.Plan // plan of the rows
	open   map[int]bool
	rows   []row
	folded int // number of columns that the rows are wrapped to
	list   render.List
	above  int // number of lines above the rows when last drawn
}

// row is a line of the plan.
type row struct {
	shape int // index of the shape; -1 for other lines
	title bool
	tone  explain.Tone
	text  string
}

// New returns the page.
func New(s *parts.Screen) *Page { return &Page{screen: s, open: map[int]bool{}} }

// SetSize sets the size of the page.
func (p *Page) SetSize(w, h int) {
	p.w, p.h = w, h
	p.Refresh()
}

// Filter returns nil: the page has no filter.
func (p *Page) Filter() *parts.Filter { return nil }

// PageRows returns the number of visible rows.
func (p *Page) PageRows() int { return max(1, p.h-p.above) }

// Refresh collects the rows again if there is another plan or width.
func (p *Page) Refresh() {
	plan := p.screen.Planning.Plan
	if plan == p.plan && p.w == p.folded || p.w == 0 { // without a width, the page was never shown
		return
	}
	isNew := plan != p.plan
	p.plan, p.folded = plan, p.w
	if isNew {
		p.open = map[int]bool{}
	}
	p.collect()
	if isNew {
		p.list = render.List{}
		p.point(0)
	}
}

// point moves the cursor to the title of a shape, if there is one.
func (p *Page) point(shape int) {
	for i, r := range p.rows {
		if r.title && r.shape == shape {
			p.list.Cursor = i
		}
	}
}

// maxLines bounds the lines that a text is wrapped to.
const maxLines = 20

func (p *Page) collect() {
	p.rows = p.rows[:0]
	if p.plan == nil {
		return
	}
	add := func(shape int, tone explain.Tone, indent int, text string) {
		for i, line := range render.Wrap(text, p.w-indent-4, maxLines) {
			if i > 0 {
				line = "  " + line
			}
			p.rows = append(p.rows, row{shape: shape, tone: tone, text: strings.Repeat(" ", indent) + line})
		}
	}
	add(-1, explain.Dim, 0, p.plan.Header)
	for i, s := range p.plan.Shapes {
		p.rows = append(p.rows, row{shape: i, title: true, tone: s.Tone, text: s.Title})
		if !p.open[i] {
			continue
		}
		for _, line := range s.Lines {
			text := strings.TrimLeft(line, " ")
			add(i, lineTone(text), 4+len(line)-len(text), text)
		}
		add(i, explain.Dim, 4, fmt.Sprintf("objects (%s): ", explain.Thousands(len(s.Objects)))+strings.Join(s.Objects[:min(len(s.Objects), maxObjects)], ", ")+more(len(s.Objects)-maxObjects))
	}
	for _, line := range p.plan.Footer {
		add(-1, explain.Text, 0, line)
	}
	p.list.Move(0, len(p.rows))
}

// maxObjects is the number of names that an unfolded shape shows.
const maxObjects = 200

func more(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" and %s more", explain.Thousands(n))
}

// lineTone returns the tone of a changed field.
func lineTone(text string) explain.Tone {
	switch {
	case strings.HasPrefix(text, "+ "):
		return explain.Added
	case strings.HasPrefix(text, "- "):
		return explain.Removed
	}
	return explain.Text
}

// Move moves the cursor by d rows.
func (p *Page) Move(d int) { p.list.Move(d, len(p.rows)) }

// Click selects the row at a place. It reports whether the row was already selected.
func (p *Page) Click(_, y int) (again bool) {
	i := p.list.Offset + y - p.above
	if y < p.above || i >= len(p.rows) {
		return false
	}
	again = i == p.list.Cursor
	p.list.Cursor = i
	return again
}

// Back does nothing: nothing opens on the page.
func (p *Page) Back() bool { return false }

// Summary draws the sentence of the plan, or the progress.
func (p *Page) Summary(l *render.Line, short bool) {
	g := p.screen.Planning
	switch {
	case !g.Running.IsZero():
		l.Put(explain.Busy, "◌ "+g.Progress(p.screen))
	case g.Err != nil:
		l.Put(explain.Err, "✗ no plan")
	case g.Plan == nil:
		l.Put(explain.Dim, "the changes that the saved code would make")
	case g.Stale(p.screen.State) != "":
		l.Put(explain.Warn, "! stale").Put(explain.Dim, ": "+g.Stale(p.screen.State))
	default:
		tone := explain.Text
		if g.Plan.Incomplete {
			tone = explain.Warn
		}
		l.Put(tone, g.Plan.Sentence)
		if short {
			return
		}
		l.Also(explain.Dim, explain.Since(p.screen.Since(g.Began)))
		if g.HasMarks(p.screen.State) {
			l.Also(explain.Accent, "this code does not run yet: b")
		}
	}
}

// View draws the page.
func (p *Page) View() string {
	b := p.screen.Block(p.w, p.h)
	g := p.screen.Planning
	if g.Err != nil && g.Running.IsZero() {
		b.Prose(explain.Err, "✗ "+g.Err.Error(), 6)
	}
	if reason := g.Stale(p.screen.State); reason != "" {
		if files := p.savedFiles(); files != "" {
			reason += ": " + files
		}
		b.Prose(explain.Warn, "! "+reason+"; n makes a new plan", 2)
	}
	p.above = b.Len()
	if p.plan == nil {
		p.drawIntroduction(b)
		return b.String()
	}
	p.drawRows(b)
	return b.String()
}

// savedFiles names the saved files that do not run yet.
func (p *Page) savedFiles() string { return strings.Join(p.screen.State.Build.Saved, ", ") }

func (p *Page) drawIntroduction(b *render.Block) {
	if b.Len() == 0 {
		b.Blank()
	}
	if !p.screen.Planning.Running.IsZero() {
		b.Text(explain.Dim, " "+p.screen.Planning.Progress(p.screen)+"; x cancels")
		return
	}
	b.Prose(explain.Dim, "n makes a plan: the saved code is built, and runs on a copy of the objects of this cluster, in a box without a network, "+
		"until nothing is left to do. The cluster gets only requests to get and list, and the running operator continues.", 6)
	if files := p.savedFiles(); files != "" {
		b.Blank()
		b.Prose(explain.Accent, "Saved code does not run yet: "+files+"; b builds and runs it.", 2)
	}
}

func (p *Page) drawRows(b *render.Block) {
	h := b.Rest()
	p.list.Fit(len(p.rows), h)
	for i := range min(h, len(p.rows)-p.list.Offset) {
		r := p.rows[p.list.Offset+i]
		l := b.Line()
		if p.list.Offset+i == p.list.Cursor {
			l.Selected = true
			l.Put(explain.Accent, "▌")
		} else {
			l.Skip(1)
		}
		if r.title {
			mark := "▸"
			if p.open[r.shape] {
				mark = "▾"
			}
			l.Put(explain.Dim, mark)
		} else {
			l.Skip(1)
		}
		b.End(l.Skip(1).Put(r.tone, r.text))
	}
}
