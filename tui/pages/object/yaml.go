package object

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/tui/parts"
	"github.com/kopf-dev/kopf/tui/render"
)

// managedFields is the path that is folded until the user unfolds it.
const managedFields = "metadata/managedFields"

// yamlPane shows the current version of an object in the cluster.
type yamlPane struct {
	screen *parts.Screen
	ref    inspect.Ref
	search parts.Filter

	seen    *runner.Looked // last version; nil before the first
	doc     *explain.Document
	folded  map[string]bool // folded lines, by path
	managed bool            // the managed fields are shown
	wrap    bool            // wrap long lines instead of cutting them

	rows    []int // the visible lines of the document
	list    render.List
	needle  string // last searched text
	matches []int  // lines of the document
	drawn   []drawnRow
}

// drawnRow is a row of the screen.
type drawnRow struct{ y, row int }

func newYAMLPane(s *parts.Screen, ref inspect.Ref) *yamlPane {
	return &yamlPane{screen: s, ref: ref, search: parts.NewFilter(), doc: explain.NewDocument(nil), folded: map[string]bool{}}
}

// refresh applies a new version of the object, or a new search text.
func (p *yamlPane) refresh() {
	looked := p.screen.State.LookedAt(p.ref, runner.FacetObject)
	if looked != nil && looked != p.seen && (looked.Loaded || p.seen == nil || !p.seen.Loaded) {
		if p.seen == nil || p.seen.Version != looked.Version {
			p.replace(looked.YAML)
		}
		p.seen = looked
	}
	if needle := strings.ToLower(p.search.Text()); needle != p.needle {
		p.needle = needle
		p.find()
	}
}

// replace shows another version. The cursor stays on its field.
func (p *yamlPane) replace(lines []string) {
	path := ""
	if line := p.line(); line < len(p.doc.Lines) {
		path = p.doc.Lines[line].Path
	}
	p.doc = explain.NewDocument(lines)
	p.layOut()
	for i := range p.doc.Lines {
		if path != "" && p.doc.Lines[i].Path == path {
			p.goTo(i)
		}
	}
	if p.needle != "" {
		at := p.line()
		p.find()
		p.goTo(at)
	}
}

// layOut collects the visible lines. The cursor stays on its line.
func (p *yamlPane) layOut() {
	line := p.line()
	p.rows = p.rows[:0]
	for i := 0; i < len(p.doc.Lines); i++ {
		p.rows = append(p.rows, i)
		if p.isFolded(i) {
			i = p.doc.Lines[i].End - 1
		}
	}
	p.goTo(line)
}

func (p *yamlPane) isFolded(i int) bool {
	l := &p.doc.Lines[i]
	if !l.Folds(i) || l.Path == "" {
		return false
	}
	return p.folded[l.Path] || l.Path == managedFields && !p.managed
}

// line returns the line of the document at the cursor.
func (p *yamlPane) line() int {
	if p.list.Cursor < len(p.rows) {
		return p.rows[p.list.Cursor]
	}
	return 0
}

// goTo moves the cursor to a line of the document. If the line is folded, it moves the cursor to the line of the fold.
func (p *yamlPane) goTo(line int) {
	for row, i := range p.rows {
		if i > line {
			break
		}
		p.list.Cursor = row
	}
}

// find collects the lines with the search text, and goes to the first match from the cursor on.
func (p *yamlPane) find() {
	p.matches = p.matches[:0]
	if p.needle == "" {
		return
	}
	var managed []int // matches in hidden managed fields, which come last because few users look for them
	hiddenUntil := 0
	for i := range p.doc.Lines {
		l := &p.doc.Lines[i]
		if l.Path == managedFields && !p.managed {
			hiddenUntil = l.End
		}
		switch found := strings.Contains(strings.ToLower(l.Text()), p.needle); {
		case found && i < hiddenUntil && l.Path != managedFields:
			managed = append(managed, i)
		case found:
			p.matches = append(p.matches, i)
		}
	}
	if len(p.matches) == 0 {
		p.matches = managed
	}
	at := p.line()
	for _, i := range p.matches {
		if i >= at && slices.Contains(p.rows, i) {
			p.goTo(i)
			return
		}
	}
	for _, i := range p.matches {
		if slices.Contains(p.rows, i) {
			p.goTo(i)
			return
		}
	}
	if len(p.matches) > 0 {
		p.reveal(p.matches[0])
	}
}

// next moves the cursor to the next or the previous match.
func (p *yamlPane) next(d int) {
	n := len(p.matches)
	if n == 0 {
		return
	}
	at, k := p.line(), -1
	for i, line := range p.matches {
		if line <= at {
			k = i
		}
	}
	if d < 0 && k >= 0 && p.matches[k] < at {
		d = 0 // the cursor is already after the match
	}
	p.reveal(p.matches[((k+d)%n+n)%n])
}

// reveal unfolds the parents of a line, and goes to the line.
func (p *yamlPane) reveal(line int) {
	for i := range p.doc.Lines[:line] {
		if l := &p.doc.Lines[i]; l.End > line && p.isFolded(i) {
			delete(p.folded, l.Path)
			p.managed = p.managed || l.Path == managedFields
		}
	}
	p.layOut()
	p.goTo(line)
}

// fold folds or unfolds the block that begins at the cursor, or folds the block around the cursor.
func (p *yamlPane) fold() {
	line := p.line()
	for i := line; i >= 0 && i < len(p.doc.Lines); i-- {
		l := &p.doc.Lines[i]
		if l.Path == "" || !l.Folds(i) || l.End <= line {
			continue
		}
		switch {
		case l.Path == managedFields:
			p.managed = !p.managed
		case p.folded[l.Path]:
			delete(p.folded, l.Path)
		default:
			p.folded[l.Path] = true
		}
		p.layOut()
		p.goTo(i)
		return
	}
}

// toggleManaged shows or hides the managed fields.
func (p *yamlPane) toggleManaged() {
	p.managed = !p.managed
	p.layOut()
}

// text returns the text to copy: the object, without hidden managed fields.
func (p *yamlPane) text() string {
	if p.seen == nil {
		return ""
	}
	var b strings.Builder
	for i := 0; i < len(p.seen.YAML); i++ {
		if p.doc.Lines[i].Path == managedFields && !p.managed {
			i = p.doc.Lines[i].End - 1
			continue
		}
		b.WriteString(p.seen.YAML[i] + "\n")
	}
	return b.String()
}

// click selects the line at a row of the screen. It reports whether the line was already selected.
func (p *yamlPane) click(y int) (again bool) {
	for _, d := range p.drawn {
		if d.y == y {
			again = p.list.Cursor == d.row
			p.list.Cursor = d.row
		}
	}
	return again
}

func (p *yamlPane) move(d int) { p.list.Move(d, len(p.rows)) }

// notice returns the line above the text: an error, or the number of matches.
func (p *yamlPane) notice() (tone explain.Tone, text string) {
	switch {
	case p.seen == nil || !p.seen.Loaded && p.seen.Error == "":
		return explain.Dim, "reading the object from the cluster"
	case p.screen.State.NotLooking() != "":
		return explain.Warn, "! " + p.screen.State.NotLooking() + "; this is how the object was last"
	case p.seen.Error != "":
		return explain.Err, "✗ " + p.seen.Error
	case p.search.Visible() && p.needle != "":
		for k, line := range p.matches {
			if line == p.line() {
				return explain.Dim, fmt.Sprintf("match %d of %d · n next · N previous", k+1, len(p.matches))
			}
		}
		return explain.Dim, explain.Count(len(p.matches), "line") + " found"
	}
	return explain.Dim, ""
}

// draw draws the visible lines.
func (p *yamlPane) draw(b *render.Block) {
	if why := p.screen.State.NotLooking(); why != "" && (p.seen == nil || !p.seen.Loaded) {
		drawNothing(b, why)
		return
	}
	if tone, text := p.notice(); text != "" {
		b.Prose(tone, text, 3)
	}
	h := b.Rest()
	p.drawn = p.drawn[:0]
	if h == 0 {
		return
	}
	p.list.Fit(len(p.rows), h)
	if p.wrap {
		p.scrollWrapped(b.W, h)
	}
	for row := p.list.Offset; row < len(p.rows) && b.Rest() > 0; row++ {
		p.drawn = append(p.drawn, drawnRow{b.Len(), row})
		p.drawLine(b, row)
	}
}

// drawNothing draws the reason why a tab is empty.
func drawNothing(b *render.Block, why string) {
	b.Blank()
	for _, line := range render.Wrap(why, b.W-4, 5) {
		b.Text(explain.Dim, "  "+line)
	}
}

// scrollWrapped scrolls so that the line at the cursor is visible although wrapped lines before it take several rows.
func (p *yamlPane) scrollWrapped(w, h int) {
	space := h
	for row := p.list.Cursor; row >= p.list.Offset; row-- {
		if space -= len(p.wrapped(w, p.rows[row])); space < 0 {
			p.list.Offset = min(row+1, p.list.Cursor)
			return
		}
	}
}

// wrapped splits the value of a line into parts that fit into the width.
func (p *yamlPane) wrapped(w, i int) []string {
	l := &p.doc.Lines[i]
	width := w - 2 - l.Indent - 1
	if l.Key != "" {
		width -= render.Width(l.Key) + 2
	}
	return render.Chunks(l.Value, max(8, width))
}

func (p *yamlPane) drawLine(b *render.Block, row int) {
	i := p.rows[row]
	l := &p.doc.Lines[i]
	values := []string{l.Value}
	if p.wrap && !p.isFolded(i) {
		values = p.wrapped(b.W, i)
	}
	for k, value := range values {
		out := b.Line()
		if row == p.list.Cursor {
			out.Selected = true
			out.Put(explain.Accent, "▌").Skip(1)
		} else {
			out.Skip(2)
		}
		out.Skip(l.Indent)
		if l.Key != "" && k == 0 {
			p.putMarked(out, explain.Key, l.Key)
			out.Put(explain.Dim, ":")
			if value != "" {
				out.Skip(1)
			}
		} else if l.Key != "" {
			out.Skip(render.Width(l.Key) + 2)
		}
		p.putMarked(out, valueTone(l), value)
		if p.isFolded(i) {
			note := "… " + explain.Count(l.End-i-1, "line")
			if l.Path == managedFields {
				note += ", m shows them"
			}
			out.Skip(1).Put(explain.Dim, note)
		}
		b.End(out)
	}
}

// putMarked puts a text with marked matches.
func (p *yamlPane) putMarked(l *render.Line, tone explain.Tone, text string) {
	text = render.Clean(text)
	lower := strings.ToLower(text)
	if p.needle == "" || len(lower) != len(text) {
		l.Put(tone, text)
		return
	}
	for {
		at := strings.Index(lower, p.needle)
		if at < 0 {
			l.Put(tone, text)
			return
		}
		end := at + len(p.needle)
		l.Put(tone, text[:at]).Put(explain.Inverted, text[at:end])
		text, lower = text[end:], lower[end:]
	}
}

// valueTone returns the tone of the value of a line.
func valueTone(l *explain.DocumentLine) explain.Tone {
	value := strings.TrimPrefix(l.Value, "- ")
	switch value {
	case "true", "false", "null", "{}", "[]":
		return explain.Literal
	case "[redacted]", "'[redacted]'":
		return explain.Dim
	}
	if _, err := strconv.ParseFloat(value, 64); err == nil {
		return explain.Literal
	}
	return explain.Text
}
