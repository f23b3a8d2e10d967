package tui

import (
	"fmt"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/tui/internal/canvas"
	"github.com/kopf-dev/kopf/tui/internal/theme"
	"github.com/kopf-dev/kopf/tui/internal/words"
)

// logView is the whole log.
type logView struct {
	common *common
	pane   *logPane
}

func newLogView(c *common) *logView { return &logView{common: c, pane: newLogPane(c, nil)} }

func (v *logView) changed()            { v.pane.changed() }
func (v *logView) move(d int)          { v.pane.move(d) }
func (v *logView) page() int           { return v.pane.rows - 1 }
func (v *logView) click(int, int) bool { return false }
func (v *logView) search() *filter     { return &v.pane.filter }

func (v *logView) answer(l *canvas.Line, short bool) {
	l.Put(theme.Text, levels[v.pane.level])
	if v.pane.level+1 < len(levels) {
		l.Put(theme.Text, " and above")
	}
	l.Put(theme.Faint, " · ")
	switch {
	case v.pane.following():
		l.Put(theme.Run, "▸ following")
	case v.pane.newer > 0:
		l.Put(theme.Warn, fmt.Sprintf("‖ held, %s newer", words.Thousands(v.pane.newer)))
	default:
		l.Put(theme.Warn, "‖ held")
	}
	if short {
		return
	}
	l.Also(theme.Dim, words.Count(len(v.pane.lines), "line"))
	if n := v.common.world.state.LogDropped; n > 0 {
		l.Also(theme.Dim, words.Thousands(n)+" dropped")
	}
	if v.pane.filter.used() {
		v.pane.filter.draw(l.Skip(3))
	}
}

func (v *logView) body(w, h int) []string {
	p := v.common.pane(w, h)
	v.pane.draw(p, "nothing has been logged yet; what handlers log, and what the program prints, comes here")
	return p.Fill()
}

// logStrip is the end of the log beneath any view; beneath an object, of its log.
type logStrip struct {
	common *common
	shown  bool
}

func (s *logStrip) lines(w, h int, object *objectPage) []string {
	c := s.common
	p := c.pane(w, h)
	title := "log"
	if object != nil {
		title = "log of " + object.ref.Name
	}
	p.Rule(title, "7 all")
	var lines []*inspect.LogLine
	all := c.world.state.Log
	for i := len(all) - 1; i >= 0 && len(lines) < p.Left(); i-- {
		l := &all[i]
		if rank(l.Level) < rank("info") || object != nil && (l.Object == nil || !same(*l.Object, object.ref)) {
			continue
		}
		lines = append(lines, l)
	}
	for i := len(lines) - 1; i >= 0; i-- {
		p.End(putLogLine(p.Line(), lines[i], object != nil))
	}
	return p.Fill()
}
