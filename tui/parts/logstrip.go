package parts

import (
	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/sdk/inspect"
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
		if explain.LevelRank(l.Level) < explain.LevelRank(inspect.LevelInfo) || object != nil && !explain.IsAbout(l, *object) {
			continue
		}
		lines = append(lines, l)
	}
	for i := len(lines) - 1; i >= 0; i-- {
		b.End(putLogLine(s, b.Line(), lines[i], object != nil))
	}
	return b.Fill()
}
