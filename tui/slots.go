package tui

import (
	"fmt"

	"github.com/kopf-dev/kopf/tui/internal/canvas"
	"github.com/kopf-dev/kopf/tui/internal/theme"
	"github.com/kopf-dev/kopf/tui/internal/words"
)

// slots are the four numbers of the answer line. They never move: nought is faint, and
// not gone, and all are as wide as the number of all objects.
var slots = [urgencies]struct {
	token theme.Token
	glyph string
	text  string
}{
	needsYou:   {theme.Err, "✗", "need you"},
	isRetrying: {theme.Warn, "↻", "retrying"},
	isBusy:     {theme.Run, "▸", "busy"},
	atRest:     {theme.OK, "✓", "at rest"},
}

func drawSlots(l *canvas.Line, counts [urgencies]int, digits int, short bool) {
	for u, slot := range slots {
		token := slot.token
		if counts[u] == 0 {
			token = theme.Faint
		}
		if short {
			l.Put(token, fmt.Sprintf("%s %d", slot.glyph, counts[u])).Skip(2)
			continue
		}
		l.Put(token, slot.glyph+" ")
		l.CellRight(token, words.Thousands(counts[u]), digits)
		l.Put(token, " "+slot.text).Skip(3)
	}
}
