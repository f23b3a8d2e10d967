package tui

import (
	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/tui/internal/canvas"
	"github.com/kopf-dev/kopf/tui/internal/theme"
	"github.com/kopf-dev/kopf/tui/internal/words"
)

// putLogLine puts one line of the log; what does not fit is cut.
func putLogLine(l *canvas.Line, line *inspect.LogLine, ofObject bool) *canvas.Line {
	putLogHead(l, line, ofObject)
	message, _ := words.Stack(line.Message)
	return l.Put(logToken(line), message)
}

// logToken is how a message is shown: as its level, if that is not the usual one.
func logToken(line *inspect.LogLine) theme.Token { return words.Level(line.Level) }

// putLogHead puts what stands before the message, and tells where that begins. Where all
// lines are of one object, its name is left out; where there is little room, the columns
// of those lines are left out that are about no object.
func putLogHead(l *canvas.Line, line *inspect.LogLine, ofObject bool) (at int) {
	l.Skip(1).Put(theme.Dim, line.At.Local().Format("15:04:05")).Skip(2)
	l.Cell(words.Level(line.Level), line.Level, 5).Skip(2)
	name, handler := 0, 10
	switch room := l.Rest(); {
	case ofObject && room > 40:
	case ofObject:
		handler = 0
	case room > 90:
		name = 24
	case room > 45:
		name = 16
	default:
		handler = 0
	}
	narrow := l.Rest() <= 90
	if line.Level == runner.LevelPrint || narrow && line.Object == nil && line.Handler == "" {
		return l.Used()
	}
	if name > 0 {
		text := ""
		if line.Object != nil {
			text = canvas.CutMiddle(canvas.Clean(qualified(*line.Object)), name)
		}
		l.Cell(theme.Text, text, name).Skip(2)
	}
	if handler > 0 && (!narrow || line.Handler != "") {
		l.Cell(theme.Dim, line.Handler, handler).Skip(1)
	}
	return l.Used()
}
