package tui

import (
	"time"

	"github.com/kopf-dev/kopf/tui/internal/canvas"
	"github.com/kopf-dev/kopf/tui/internal/theme"
)

// toastTime is how long a toast stays, unless a key takes it away.
const toastTime = 5 * time.Second

// toast is the answer to a key: it lies above the help line and goes by itself.
type toast struct {
	token theme.Token
	text  string
	until time.Time
}

func (t *toast) set(now time.Time, token theme.Token, text string) {
	*t = toast{token, text, now.Add(toastTime)}
}

func (t *toast) good(now time.Time, text string) { t.set(now, theme.OK, "✓ "+text) }
func (t *toast) warn(now time.Time, text string) { t.set(now, theme.Err, "✗ "+text) }
func (t *toast) hint(now time.Time, text string) { t.set(now, theme.Warn, "– "+text) }
func (t *toast) note(now time.Time, text string) { t.set(now, theme.Dim, text) }

func (t *toast) expire(now time.Time) {
	if now.After(t.until) {
		*t = toast{}
	}
}

func (r *root) drawToast(lines []string) {
	if r.toast.text == "" || len(lines) < 3 {
		return
	}
	c := r.common
	text := " " + canvas.CutEnd(canvas.Clean(r.toast.text), c.width-4) + " "
	w := canvas.Width(text)
	l := canvas.NewLine(c.theme, w)
	l.Selected = true
	l.Put(r.toast.token, text)
	canvas.Over(lines, []string{l.String()}, max(0, c.width-w-1), len(lines)-2)
}
