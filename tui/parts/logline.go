package parts

import (
	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/tui/render"
)

// putLogLine puts one line of the log on a line of the screen, and cuts it to the width.
func putLogLine(s *Screen, l *render.Line, line *inspect.LogLine, ofObject bool) *render.Line {
	putLogHead(s, l, line, ofObject)
	message, _ := explain.CutStack(line.Message)
	return l.Put(explain.LevelTone(line.Level), message)
}

// putLogHead puts the columns before the message, and returns the column of the message. The log of an object omits
// the object's name. Narrow screens omit the columns of lines without an object.
func putLogHead(s *Screen, l *render.Line, line *inspect.LogLine, ofObject bool) int {
	l.Skip(1).Put(explain.Dim, line.At.Local().Format("15:04:05")).Skip(2)
	l.Cell(explain.LevelTone(line.Level), string(line.Level), 5).Skip(2)
	name, handler := 0, 10
	switch space := l.Rest(); {
	case ofObject && space > 40:
	case ofObject:
		handler = 0
	case space > 90:
		name = 28
	case space > 45:
		name = 20
	default:
		handler = 0
	}
	narrow := l.Rest() <= 90
	if line.Level == runner.LevelPrint || narrow && line.Object == nil && line.Handler == "" {
		return l.Used()
	}
	if name > 0 {
		text := render.CutMiddle(render.Clean(explain.LogObject(s.State.State, line)), name)
		l.Cell(explain.Text, text, name).Skip(2)
	}
	if handler > 0 && (!narrow || line.Handler != "") {
		l.Cell(explain.Dim, line.Handler, handler).Skip(1)
	}
	return l.Used()
}
