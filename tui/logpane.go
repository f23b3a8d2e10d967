package tui

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/tui/internal/canvas"
	"github.com/kopf-dev/kopf/tui/internal/theme"
	"github.com/kopf-dev/kopf/tui/internal/words"
)

// levels of the log, from the least. What a program prints by itself is always shown.
var levels = []string{"debug", "info", "warn", "error"}

func rank(level string) int {
	for i, l := range levels {
		if l == level {
			return i
		}
	}
	return len(levels)
}

// logPane is a window on the log. It follows the end; as soon as one moves up it holds
// still, whatever comes, until one is at the end again.
type logPane struct {
	common *common
	wanted func(*inspect.LogLine) bool // nil wants all
	filter filter
	level  int // the least that is shown

	lines []*inspect.LogLine // that match
	wrap  bool               // long lines, instead of cutting them
	held  bool
	end   int // while held: the number of lines above the lower edge
	newer int // while held: the number of lines that came since
	seen  *world
	key   string // the filter and level of lines
	rows  int    // of the window, as drawn last
}

func newLogPane(c *common, wanted func(*inspect.LogLine) bool) *logPane {
	v := &logPane{common: c, wanted: wanted, level: rank("info")}
	v.changed()
	return v
}

// changed collects the lines anew. While it is held, the lines are those of the moment
// when it was held: the log may lose its oldest lines meanwhile, but not here.
func (v *logPane) changed() {
	key := fmt.Sprint(v.level, v.filter.text)
	if v.seen == v.common.world && v.key == key {
		return
	}
	same := v.key == key
	v.seen, v.key = v.common.world, key
	if v.held && same {
		v.newer = v.countNewer()
		return
	}
	v.lines = v.collect()
	v.end, v.newer = min(v.end, len(v.lines)), 0
	if !v.held {
		v.end = len(v.lines)
	}
}

func (v *logPane) collect() []*inspect.LogLine {
	all := v.common.world.state.Log
	filter := v.filter.words()
	var lines []*inspect.LogLine
	for i := range all {
		if l := &all[i]; v.shows(l, filter) {
			lines = append(lines, l)
		}
	}
	return lines
}

func (v *logPane) shows(l *inspect.LogLine, filter []string) bool {
	if rank(l.Level) < v.level || v.wanted != nil && !v.wanted(l) {
		return false
	}
	if len(filter) == 0 {
		return true
	}
	object := ""
	if l.Object != nil {
		object = qualified(*l.Object)
	}
	return matches(filter, strings.ToLower(l.Message), object, l.Handler, l.Level)
}

func (v *logPane) countNewer() int {
	if len(v.lines) == 0 {
		return 0
	}
	last := v.lines[len(v.lines)-1]
	filter := v.filter.words()
	n := 0
	all := v.common.world.state.Log
	for i := len(all) - 1; i >= 0; i-- {
		l := &all[i]
		if l.At.Equal(last.At) && l.Message == last.Message || l.At.Before(last.At) {
			break
		}
		if v.shows(l, filter) {
			n++
		}
	}
	return n
}

func (v *logPane) following() bool { return !v.held }

func (v *logPane) follow(on bool) {
	v.held = !on
	if on {
		v.key = "" // collect anew
		v.changed()
	}
}

func (v *logPane) nextLevel() {
	v.level = (v.level + 1) % len(levels)
	v.changed()
}

func (v *logPane) move(d int) {
	switch {
	case d < 0 && !v.wrap && len(v.lines) <= v.rows:
		// All is seen: there is nothing to hold still.
	case d < 0:
		v.held = true
		v.end = max(min(v.rows, len(v.lines)), v.end+d)
	case v.held:
		if v.end += d; v.end >= len(v.lines) {
			v.end = len(v.lines)
			v.follow(true)
		}
	}
}

func (v *logPane) draw(p *canvas.Pane, empty string) {
	v.rows = p.Left()
	if len(v.lines) == 0 {
		p.Blank()
		if v.filter.text != "" {
			empty = "nothing matches; esc shows all"
		}
		p.Text(theme.Dim, "  "+empty)
		return
	}
	end := max(v.end, min(v.rows, len(v.lines)))
	if v.wrap {
		v.drawWrapped(p, v.lines[:end])
		return
	}
	for _, l := range v.lines[max(0, end-v.rows):end] {
		p.End(putLogLine(p.Line(), l, v.wanted != nil))
	}
}

// drawWrapped draws as many of the last lines as there is room for, each as a whole.
func (v *logPane) drawWrapped(p *canvas.Pane, lines []*inspect.LogLine) {
	var blocks [][]string
	room := p.Left()
	for i := len(lines) - 1; i >= 0 && room > 0; i-- {
		block := v.wrapped(p, lines[i])
		block = block[max(0, len(block)-room):]
		room -= len(block)
		blocks = append(blocks, block)
	}
	for _, block := range slices.Backward(blocks) {
		p.Add(block...)
	}
}

// wrapped is a line of the log with the rest of its message beneath.
func (v *logPane) wrapped(p *canvas.Pane, line *inspect.LogLine) []string {
	head := v.common.line(p.W)
	at := putLogHead(head, line, v.wanted != nil)
	message, stack := words.Stack(line.Message)
	parts := canvas.Wrap(message, p.W-at-1, 50)
	if len(parts) == 0 {
		return []string{head.String()}
	}
	block := []string{head.Put(logToken(line), parts[0]).String()}
	for _, part := range parts[1:] {
		block = append(block, v.common.line(p.W).To(at).Put(logToken(line), part).String())
	}
	for _, call := range stack {
		block = append(block, v.common.line(p.W).Skip(4).Put(theme.Dim, call).String())
	}
	return block
}
