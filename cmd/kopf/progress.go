package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/kopf-dev/kopf/devcluster"
	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/sdk/printable"
)

// progressLine prints the progress of a build or of opening a cluster: in a terminal one line that is
// overwritten, otherwise a line for each phase and each tenth of a long phase, or each 50 steps of a phase of unknown length.
type progressLine struct {
	w     io.Writer
	live  bool
	phase devcluster.Phase
	part  int // tenths, or 50 steps
}

const stepsOfLine = 50

func newProgressLine(w io.Writer) *progressLine {
	f, ok := w.(*os.File)
	return &progressLine{w: w, live: ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"}
}

func (l *progressLine) report(p devcluster.Progress) {
	switch {
	case l.live:
		l.print(clearLine + progressText(p))
	case l.isNew(p) && p.Phase != devcluster.PhaseReady:
		l.print(progressText(p) + "\n")
	}
}

// step shows a part of the work whose progress is not known.
func (l *progressLine) step(text string) {
	if text = printable.Line(text); l.live {
		l.print(clearLine + text)
	} else {
		l.print(text + "\n")
	}
}

// end clears the line.
func (l *progressLine) end() {
	if l.live {
		l.print(clearLine)
	}
}

const clearLine = "\r\x1b[K"

// isNew reports whether a phase, or a part of it, has begun since the last call.
func (l *progressLine) isNew(p devcluster.Progress) bool {
	part := p.Done / stepsOfLine
	if p.Total > 0 {
		part = 10 * p.Done / p.Total
	}
	if p.Phase == l.phase && part == l.part {
		return false
	}
	l.phase, l.part = p.Phase, part
	return true
}

// print ignores errors: progress is not essential.
func (l *progressLine) print(s string) { _, _ = io.WriteString(l.w, s) }

func progressText(p devcluster.Progress) string {
	message := printable.Line(p.Message)
	switch {
	case p.Phase == devcluster.PhaseFetch && p.Total > 0:
		return fmt.Sprintf("%s %s %d of %d MB", message, progressBar(p.Done, p.Total), p.Done, p.Total)
	case p.Phase == devcluster.PhasePull && p.Total > 0:
		return fmt.Sprintf("%s (%d of %d MB)", message, p.Done, p.Total)
	case p.Total > 0 && p.Remaining > 0:
		return fmt.Sprintf("%s (%d of %d, %s)", message, p.Done, p.Total, explain.TimeLeft(p.Remaining))
	case p.Total > 0:
		return fmt.Sprintf("%s (%d of %d)", message, p.Done, p.Total)
	case p.Elapsed >= time.Second:
		return fmt.Sprintf("%s (%d s)", message, int(p.Elapsed.Seconds()))
	case p.Done > 0:
		return fmt.Sprintf("%s (%d)", message, p.Done)
	default:
		return message
	}
}

// barWidth is the width of a progress bar without its ends.
const barWidth = 20

// progressBar returns a bar of the progress.
func progressBar(done, total int) string {
	full := min(barWidth, barWidth*done/total)
	return "[" + strings.Repeat("#", full) + strings.Repeat("-", barWidth-full) + "]"
}
