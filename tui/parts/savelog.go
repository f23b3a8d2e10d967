package parts

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/tui/render"
)

// SaveLog returns the action that saves the lines of a log that are shown.
func SaveLog(p *LogPane) Action {
	a := Action{Binding: Key("s", ""), Name: "save the log to a file", Column: Act, Everywhere: true, InPlace: true}
	if p.Len() == 0 {
		a.Unavailable = "there are no lines"
	}
	a.Do = func() tea.Msg { return Save{What: "log", Lines: p.Text()} }
	return a
}

// Text returns all lines that match, in full.
func (p *LogPane) Text() []string {
	lines := make([]string, len(p.lines))
	for i, l := range p.lines {
		fields := []string{l.At.UTC().Format("2006-01-02T15:04:05.000Z"), string(l.Level)}
		if l.Object != nil {
			fields = append(fields, explain.LogObject(p.screen.State.State, l))
		}
		if l.Handler != "" {
			fields = append(fields, l.Handler)
		}
		fields = append(fields, l.Message)
		for k := range fields {
			fields[k] = render.Clean(fields[k])
		}
		lines[i] = strings.Join(fields, "  ")
	}
	return lines
}
