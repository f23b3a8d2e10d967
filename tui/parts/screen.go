package parts

import (
	"time"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/tui/render"
)

// Screen has the data that pages and parts read: the state of the session, the time, the theme, and
// the size of the terminal. Only the app modifies it.
type Screen struct {
	Theme  *render.Theme
	State  *explain.State
	Now    time.Time
	Width  int
	Height int
	Editor bool // an environment variable names the user's editor
	Clicks Clicks

	Planning *Planning // nil if the workbench makes no plans
}

// The sizes at which the layout changes.
const (
	wideFrom      = 110 // width from which the counters show their words even next to a filter
	stripFrom     = 34  // height from which there is a log strip
	highStripFrom = 48  // height from which the log strip is higher
	spaciousFrom  = 30  // height from which sections have blank lines between them
	smallWidth    = 60  // width below which there is no rule, no answer line and no log strip
	smallHeight   = 16
	minimalWidth  = 24 // width below which only the four counters are drawn
	minimalHeight = 4
)

// Minimal reports whether the terminal only has space for the counters.
func (s *Screen) Minimal() bool { return s.Width < minimalWidth || s.Height < minimalHeight }

// Small reports whether the terminal has no space for the alarm, the answer line, and the
// log strip.
func (s *Screen) Small() bool { return s.Width < smallWidth || s.Height < smallHeight }

// Wide reports whether the words of the counters fit beside a filter.
func (s *Screen) Wide() bool { return s.Width >= wideFrom && !s.Small() }

// Spacious reports whether there is space for blank lines between sections.
func (s *Screen) Spacious() bool { return s.Height >= spaciousFrom }

// LogStripHeight returns the maximum number of lines of the log strip; 0 if there is no space for
// it.
func (s *Screen) LogStripHeight() int {
	switch {
	case s.Small() || s.Height < stripFrom:
		return 0
	case s.Height >= highStripFrom:
		return 12
	}
	return 8
}

// Block returns an empty block.
func (s *Screen) Block(w, h int) *render.Block { return render.NewBlock(s.Theme, w, h) }

// Line returns an empty line.
func (s *Screen) Line(w int) *render.Line { return render.NewLine(s.Theme, max(0, w)) }

// Since returns the duration since a time.
func (s *Screen) Since(t time.Time) time.Duration { return s.Now.Sub(t) }
