package parts

import (
	"time"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/tui/render"
)

// toastTime is how long a toast stays.
const toastTime = 5 * time.Second

// Toast is a short answer to a key, above the help line. The zero value shows nothing.
type Toast struct {
	tone  explain.Tone
	text  string
	until time.Time
}

// Success shows that something was done.
func (t *Toast) Success(now time.Time, text string) { t.set(now, explain.OK, "✓ "+text) }

// Failure shows that something failed.
func (t *Toast) Failure(now time.Time, text string) { t.set(now, explain.Err, "✗ "+text) }

// Refusal shows why something is not possible.
func (t *Toast) Refusal(now time.Time, text string) { t.set(now, explain.Warn, "– "+text) }

// Note shows a change.
func (t *Toast) Note(now time.Time, text string) { t.set(now, explain.Dim, text) }

func (t *Toast) set(now time.Time, tone explain.Tone, text string) {
	*t = Toast{tone, text, now.Add(toastTime)}
}

// Visible reports whether there is something to draw.
func (t *Toast) Visible() bool { return t.text != "" }

// Clear removes the text.
func (t *Toast) Clear() { *t = Toast{} }

// Expire removes the text after toastTime.
func (t *Toast) Expire(now time.Time) {
	if now.After(t.until) {
		t.Clear()
	}
}

// Draw draws the toast over the right end of the last line but one.
func (t *Toast) Draw(s *Screen, screen []string) {
	if !t.Visible() || len(screen) < 3 {
		return
	}
	text := " " + render.CutEnd(render.Clean(t.text), s.Width-4) + " "
	w := render.Width(text)
	l := s.Line(w)
	l.Selected = true
	render.Overlay(screen, l.Put(t.tone, text).String(), max(0, s.Width-w-1), len(screen)-2)
}
