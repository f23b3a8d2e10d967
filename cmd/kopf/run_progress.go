package main

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/kopf-dev/kopf/devcluster"
	"github.com/kopf-dev/kopf/sdk/printable"
)

// progressPrinter prints what kopf itself does to standard error, next to the operator's log.
// Its methods may be called from several goroutines.
type progressPrinter struct {
	cmd   *cobra.Command
	flags *operatorFlags

	mu   sync.Mutex
	line *progressLine
}

func (t *progressPrinter) progress(p devcluster.Progress) {
	// In a log, the result of a step that takes a second is enough.
	brief := p.Phase == devcluster.PhaseStart || p.Phase == devcluster.PhaseConnect
	if t.flags.quiet || brief && !t.line.live {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case !t.inJSON():
		t.line.report(p)
	case p.Phase != devcluster.PhaseReady && t.line.isNew(p):
		t.write(progressText(p))
	}
}

func (t *progressPrinter) endProgress() {
	if t.flags.quiet || t.inJSON() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.line.end()
}

func (t *progressPrinter) say(verbose bool, text string) {
	if t.flags.quiet || verbose && !t.flags.verbose && !t.flags.debug {
		return
	}
	t.warn(text)
}

// warn prints a message even with --quiet.
func (t *progressPrinter) warn(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.inJSON() {
		t.line.end()
		text = "kopf: " + printable.Paragraph(text)
	}
	t.write(text)
}

// inJSON reports whether standard error must have JSON lines only.
func (t *progressPrinter) inJSON() bool { return t.flags.logFormat == "json" }

// write prints a line, in JSON in the format of the operator's log.
func (t *progressPrinter) write(text string) {
	if t.inJSON() {
		line, err := json.Marshal(struct {
			Message   string `json:"message"`
			Severity  string `json:"severity"`
			Timestamp string `json:"timestamp"`
		}{text, "info", time.Now().UTC().Format("2006-01-02T15:04:05.000000")})
		if err != nil {
			panic(err) // strings encode
		}
		text = string(printable.JSON(line))
	}
	fmt.Fprintln(t.cmd.ErrOrStderr(), text)
}
