package parts

import (
	"strconv"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/tui/render"
)

// DrawCounters puts the numbers of objects by urgency on a line. So that the numbers never move,
// zero is drawn too, and each number is as wide as the number of all objects.
func DrawCounters(s *Screen, l *render.Line) {
	digits := len(explain.Thousands(len(s.State.Objects)))
	for u, n := range s.State.Counts {
		word, tone := counterWord(u, n)
		l.Put(tone, word.Glyph+" ").CellRight(tone, explain.Thousands(n), digits)
		l.Put(tone, " "+word.Text).Skip(3)
	}
}

// DrawShortCounters is DrawCounters without words and padding.
func DrawShortCounters(s *Screen, l *render.Line) {
	for u, n := range s.State.Counts {
		word, tone := counterWord(u, n)
		l.Put(tone, word.Glyph+" "+strconv.Itoa(n)).Skip(2)
	}
}

func counterWord(u, n int) (explain.Word, explain.Tone) {
	word := explain.Urgency(u).Word()
	if n == 0 {
		return word, explain.Faint
	}
	return word, word.Tone
}
