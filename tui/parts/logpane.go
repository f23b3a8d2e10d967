package parts

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/tui/render"
)

// LogPane is a window on the log. It follows the end of the log. If the user scrolls up, the pane
// is held until the user scrolls to the end again.
type LogPane struct {
	Filter Filter
	Wrap   bool // wrap long lines instead of cutting them

	screen *Screen
	object *inspect.Ref // object of the log; nil for the whole log
	level  int          // lowest shown level

	lines   []*inspect.LogLine // matching lines
	held    bool
	end     int // number of lines above the lower edge of the pane, while it is held
	newer   int // number of lines that arrived since the pane was held
	state   *explain.State
	matched string // filter and level of the collected lines
	rows    int    // rows of the window when last drawn
}

// NewLogPane returns a pane on the log, or on the log of an object if it is not nil.
func NewLogPane(s *Screen, object *inspect.Ref) *LogPane {
	p := &LogPane{Filter: NewFilter(), screen: s, object: object, level: explain.LevelRank(inspect.LevelInfo)}
	p.Refresh()
	return p
}

// Refresh collects the lines again if the state, the filter or the level changed. While the
// pane is held, its lines stay, even if the log drops them.
func (p *LogPane) Refresh() {
	matched := fmt.Sprint(p.level, p.Filter.Text())
	if p.state == p.screen.State && p.matched == matched {
		return
	}
	same := p.matched == matched
	p.state, p.matched = p.screen.State, matched
	if p.held && same {
		p.newer = p.countNewer()
		return
	}
	p.lines = p.collect()
	p.end, p.newer = min(p.end, len(p.lines)), 0
	if !p.held {
		p.end = len(p.lines)
	}
}

func (p *LogPane) collect() []*inspect.LogLine {
	all := p.screen.State.Log
	query := p.Filter.Query(logColumns...)
	var lines []*inspect.LogLine
	for i := range all {
		if l := &all[i]; p.shows(l, query) {
			lines = append(lines, l)
		}
	}
	return lines
}

// logColumns name the columns in a filter: "level:error", "handler:resize".
var logColumns = []string{"level", "object", "handler", "message"}

func (p *LogPane) shows(l *inspect.LogLine, query Query) bool {
	if explain.LevelRank(l.Level) < p.level || p.object != nil && !explain.IsAbout(l, *p.object) {
		return false
	}
	if len(query) == 0 {
		return true
	}
	return query.Matches(string(l.Level), strings.ToLower(explain.LogObject(p.screen.State.State, l)), strings.ToLower(l.Handler), strings.ToLower(l.Message))
}

func (p *LogPane) countNewer() int {
	if len(p.lines) == 0 {
		return 0
	}
	last := p.lines[len(p.lines)-1]
	query := p.Filter.Query(logColumns...)
	n := 0
	all := p.screen.State.Log
	for i := len(all) - 1; i >= 0; i-- {
		l := &all[i]
		if l.At.Equal(last.At) && l.Message == last.Message || l.At.Before(last.At) {
			break
		}
		if p.shows(l, query) {
			n++
		}
	}
	return n
}

// Len returns the number of lines.
func (p *LogPane) Len() int { return len(p.lines) }

// Rows returns the number of visible rows.
func (p *LogPane) Rows() int { return p.rows }

// Held reports whether the pane is held. It also returns the number of lines that arrived since.
func (p *LogPane) Held() (newer int, held bool) { return p.newer, p.held }

// Follow makes the pane follow the end of the log if on is true; otherwise it holds the pane.
func (p *LogPane) Follow(on bool) {
	p.held = !on
	if on {
		p.matched = "" // forces Refresh to collect the lines
		p.Refresh()
	}
}

// Level returns the lowest level that is shown, as an index into [explain.LogLevels].
func (p *LogPane) Level() int { return p.level }

// NextLevel raises the lowest shown level. After the highest level, it shows all lines.
func (p *LogPane) NextLevel() {
	p.level = (p.level + 1) % len(explain.LogLevels)
	p.Refresh()
}

// Move scrolls by a number of lines.
func (p *LogPane) Move(d int) {
	switch {
	case d < 0 && !p.Wrap && len(p.lines) <= p.rows:
		// All lines are visible.
	case d < 0:
		p.held = true
		p.end = max(min(p.rows, len(p.lines)), p.end+d)
	case p.held:
		if p.end += d; p.end >= len(p.lines) {
			p.end = len(p.lines)
			p.Follow(true)
		}
	}
}

// Draw draws the visible lines, or the text empty if there are none.
func (p *LogPane) Draw(b *render.Block, empty string) {
	p.rows = b.Rest()
	if len(p.lines) == 0 {
		b.Blank()
		if p.Filter.Text() != "" {
			empty = "nothing matches; esc shows all"
		}
		b.Text(explain.Dim, "  "+empty)
		return
	}
	end := max(p.end, min(p.rows, len(p.lines)))
	if p.Wrap {
		p.drawWrapped(b, p.lines[:end])
		return
	}
	for _, l := range p.lines[max(0, end-p.rows):end] {
		b.End(putLogLine(p.screen, b.Line(), l, p.object != nil))
	}
}

// drawWrapped draws the last log lines that fit, each wrapped and in full.
func (p *LogPane) drawWrapped(b *render.Block, lines []*inspect.LogLine) {
	var blocks [][]string
	space := b.Rest()
	for i := len(lines) - 1; i >= 0 && space > 0; i-- {
		block := p.wrapped(b.W, lines[i])
		block = block[max(0, len(block)-space):]
		space -= len(block)
		blocks = append(blocks, block)
	}
	for _, block := range slices.Backward(blocks) {
		b.Add(block...)
	}
}

// wrapped returns the lines of a wrapped log line: the whole message, then the stack.
func (p *LogPane) wrapped(width int, line *inspect.LogLine) []string {
	head := p.screen.Line(width)
	start := putLogHead(p.screen, head, line, p.object != nil)
	tone := explain.LevelTone(line.Level)
	message, stack := explain.CutStack(line.Message)
	parts := render.Wrap(message, width-start-1, 50)
	if len(parts) == 0 {
		return []string{head.String()}
	}
	block := []string{head.Put(tone, parts[0]).String()}
	for _, part := range parts[1:] {
		block = append(block, p.screen.Line(width).To(start).Put(tone, part).String())
	}
	for _, call := range stack {
		block = append(block, p.screen.Line(width).Skip(4).Put(explain.Dim, call).String())
	}
	return block
}
