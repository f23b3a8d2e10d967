package parts

import (
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/tui/model"
)

// LogStrip draws the end of the log, or of the log of an object if it is not nil.
func LogStrip(s *Screen, w, h int, object *inspect.Ref) []string {
	b := s.Block(w, h)
	title := "log"
	if object != nil {
		title = "log of " + object.Name
	}
	b.Rule(title, "7 all")
	var lines []*inspect.LogLine
	all := s.State.Log
	for i := len(all) - 1; i >= 0 && len(lines) < b.Rest(); i-- {
		l := &all[i]
		if model.LevelRank(l.Level) < model.LevelRank(inspect.LevelInfo) || object != nil && !model.IsAbout(l, *object) {
			continue
		}
		lines = append(lines, l)
	}
	for i := len(lines) - 1; i >= 0; i-- {
		b.End(putLogLine(s, b.Line(), lines[i], object != nil))
	}
	return b.Fill()
}
