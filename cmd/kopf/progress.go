package main

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/term"

	"github.com/kopf-dev/kopf/devcluster"
)

// progressLine shows the way to a cluster: in a terminal as one line that is
// overwritten, elsewhere as a line for each phase and each tenth of a long one.
type progressLine struct {
	w     io.Writer
	live  bool
	phase devcluster.Phase
	tenth int
}

func newProgressLine(w io.Writer) *progressLine {
	f, ok := w.(*os.File)
	return &progressLine{w: w, live: ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"}
}

func (l *progressLine) report(p devcluster.Progress) {
	switch {
	case l.live:
		l.print(clearLine + progressText(p))
	case l.news(p) && p.Phase != devcluster.PhaseReady:
		l.print(progressText(p) + "\n")
	}
}

// end clears the line for what comes next.
func (l *progressLine) end() {
	if l.live {
		l.print(clearLine)
	}
}

const clearLine = "\r\x1b[K"

// news tells whether a line that stays is worth it.
func (l *progressLine) news(p devcluster.Progress) bool {
	tenth := 0
	if p.Total > 0 {
		tenth = 10 * p.Done / p.Total
	}
	if p.Phase == l.phase && tenth == l.tenth {
		return false
	}
	l.phase, l.tenth = p.Phase, tenth
	return true
}

// print ignores errors: nobody is left to be told of them, and the work goes on.
func (l *progressLine) print(s string) { _, _ = io.WriteString(l.w, s) }

func progressText(p devcluster.Progress) string {
	switch {
	case p.Total > 0:
		return fmt.Sprintf("%s (%d of %d)", p.Message, p.Done, p.Total)
	case p.Done > 0:
		return fmt.Sprintf("%s (%d)", p.Message, p.Done)
	default:
		return p.Message
	}
}
