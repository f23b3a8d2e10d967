package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/devcluster"
)

func TestProgressLine_PrintsTenthsOutsideTerminal(t *testing.T) {
	var b bytes.Buffer
	l := newProgressLine(&b)
	for n := range 101 {
		l.report(devcluster.Progress{Phase: devcluster.PhaseCompile, Done: n, Total: 100, Message: "compiling"})
	}
	l.report(devcluster.Progress{Phase: devcluster.PhaseStart, Message: "starting"})
	l.report(devcluster.Progress{Phase: devcluster.PhaseReady, Message: "ready"})
	l.end()
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if len(lines) != 12 || lines[0] != "compiling (0 of 100)" || lines[10] != "compiling (100 of 100)" || lines[11] != "starting" {
		t.Errorf("got %q", lines)
	}
}

func TestProgressLine_PrintsStepsOfABuildOutsideTerminal(t *testing.T) {
	var b bytes.Buffer
	l := newProgressLine(&b)
	for n := range 130 {
		l.report(devcluster.Progress{Phase: devcluster.PhaseCompile, Done: n + 1, Message: "compiling"})
	}
	if got := b.String(); got != "compiling (1)\ncompiling (50)\ncompiling (100)\n" {
		t.Errorf("got %q", got)
	}
}

func TestProgressLine_OverwritesLineInTerminal(t *testing.T) {
	var b bytes.Buffer
	l := &progressLine{w: &b, live: true}
	l.report(devcluster.Progress{Phase: devcluster.PhaseDownload, Done: 3, Message: "downloading"})
	l.report(devcluster.Progress{Phase: devcluster.PhaseStart, Message: "starting"})
	l.end()
	if got := b.String(); got != clearLine+"downloading (3)"+clearLine+"starting"+clearLine {
		t.Errorf("got %q", got)
	}
}
