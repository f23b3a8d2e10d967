package parts

import (
	"strconv"
	"strings"
	"time"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/tui/render"
)

// timelineHeight is the number of lines of a timeline: the track, the numbers of the attempts, and the times.
const timelineHeight = 3

// timeline shows the attempts of a handler on an axis of time, so that the delays between them can be compared. It
// ends with the next attempt; if there is none, with the last attempt.
type timeline struct {
	attempts []inspect.Attempt
	first    int // number of the first shown attempt
	running  bool
	next     time.Time // time of the next attempt; zero if none is scheduled
	held     string    // reason why the next attempt does not happen; empty if it does
	from, to time.Time
	now      time.Time
}

func newTimeline(s *Screen, o *inspect.Object, h *inspect.HandlerState) *timeline {
	t := &timeline{held: s.State.HeldOf(o), attempts: h.Attempts, running: h.State == inspect.PhaseRunning, now: s.Now}
	t.first = max(1, h.Attempt-len(h.Attempts)+1)
	if t.running {
		t.first = max(1, t.first-1) // the list of attempts does not contain the running attempt
	}
	t.from = h.Attempts[0].At
	last := h.Attempts[len(h.Attempts)-1]
	t.to = last.At.Add(time.Duration(last.Took))
	switch explain.Next(h, s.Now, t.held).Kind {
	case explain.NextRetry, explain.NextCall, explain.NextHeld:
		if t.next = h.Next; t.next.After(t.to) {
			t.to = t.next
		}
		t.include(s.Now)
	default:
		if t.running {
			t.include(s.Now)
		}
	}
	return t
}

// include extends the axis to a time.
func (t *timeline) include(at time.Time) {
	if at.After(t.to) {
		t.to = at
	}
}

// column returns the column of a time in a track of the given width.
func (t *timeline) column(at time.Time, width int) int {
	span := t.to.Sub(t.from)
	if span <= 0 || at.Before(t.from) {
		return 0
	}
	return min(width-1, int(float64(at.Sub(t.from))/float64(span)*float64(width-1)))
}

// draw draws the track, the numbers, and the times.
func (t *timeline) draw(s *Screen, b *render.Block) {
	t.drawTrack(s, b)
	t.drawNumbers(b)
	t.drawTimes(s, b)
}

// mark is the content of one column of the track.
type mark struct {
	tone  explain.Tone
	glyph string
}

func (t *timeline) drawTrack(s *Screen, b *render.Block) {
	width := b.W - 2
	if width < 1 {
		return
	}
	track := make([]mark, width)
	now := t.column(t.now, width)
	ahead := t.running || !t.next.IsZero()
	for i := range track {
		if track[i] = (mark{explain.Faint, "─"}); ahead && i > now {
			track[i].glyph = "·"
		}
	}
	if ahead {
		track[now] = mark{explain.Dim, "│"}
	}
	for _, a := range t.attempts {
		word := explain.AttemptWord(&a)
		from, to := t.column(a.At, width), t.column(a.At.Add(time.Duration(a.Took)), width)
		for i := from; i <= to; i++ {
			track[i] = mark{word.Tone, "━"}
		}
		track[from].glyph = word.Glyph
	}
	switch {
	case t.running:
		word := explain.HandlerWord(inspect.PhaseRunning)
		track[now] = mark{word.Tone, word.Glyph}
	case !t.next.IsZero():
		word := explain.HandlerWord(inspect.PhaseNext)
		track[t.column(t.next, width)] = mark{word.Tone, word.Glyph}
	}
	l := b.Line().Skip(1)
	for i := 0; i < width; {
		same := i
		for same < width && track[same] == track[i] {
			same++
		}
		l.Put(track[i].tone, strings.Repeat(track[i].glyph, same-i))
		i = same
	}
	b.End(l)
}

// drawNumbers draws the numbers of the attempts below their glyphs. It omits numbers that would touch another number. The
// newest numbers take precedence, because users look for them.
func (t *timeline) drawNumbers(b *render.Block) {
	width := b.W - 2
	type label struct {
		at   int
		text string
		tone explain.Tone
	}
	var labels []label
	left := width + 2 // where the label to the right begins
	add := func(at int, n int, tone explain.Tone) {
		text := strconv.Itoa(n)
		if at+len(text) > width {
			at = width - len(text)
		}
		if at >= 0 && at+len(text) < left {
			labels = append(labels, label{at, text, tone})
			left = at
		}
	}
	after := t.first + len(t.attempts)
	switch {
	case t.running:
		add(t.column(t.now, width), after, explain.Text)
	case !t.next.IsZero():
		add(t.column(t.next, width), after, explain.Dim)
	}
	for i := len(t.attempts) - 1; i >= 0; i-- {
		add(t.column(t.attempts[i].At, width), t.first+i, explain.Text)
	}
	l := b.Line()
	for i := len(labels) - 1; i >= 0; i-- {
		l.To(1+labels[i].at).Put(labels[i].tone, labels[i].text)
	}
	b.End(l)
}

// drawTimes draws the times of both ends of the axis, and the position of now.
func (t *timeline) drawTimes(s *Screen, b *render.Block) {
	width := b.W - 2
	begin := explain.Since(s.Since(t.from))
	end := explain.Since(s.Since(t.to))
	switch {
	case t.running && !t.to.After(t.now):
		end = "now"
	case !t.next.IsZero() && t.held != "":
		end = "held"
	case t.to.After(t.now):
		end = explain.In(t.to.Sub(t.now))
	}
	l := b.Line().Skip(1).Put(explain.Dim, begin)
	if at := 1 + t.column(t.now, width); end != "now" && !t.next.IsZero() && at > l.Used()+1 && at+len("now")+2 < b.W-1-len(end) {
		l.To(at).Put(explain.Dim, "now")
	}
	if at := b.W - 1 - render.Width(end); at > l.Used()+1 && t.to.After(t.from) {
		l.To(at).Put(explain.Dim, end)
	}
	b.End(l)
}
