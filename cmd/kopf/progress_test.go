package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

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

func TestProgressText_SaysTheRemainingTime(t *testing.T) {
	for left, want := range map[time.Duration]string{
		0:                              "compiling (3 of 9)",
		time.Second:                    "compiling (3 of 9, <1 min left)",
		9*time.Minute + 20*time.Second: "compiling (3 of 9, ~9 min left)",
	} {
		p := devcluster.Progress{Phase: devcluster.PhaseCompile, Done: 3, Total: 9, Remaining: left, Message: "compiling"}
		if got := progressText(p); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
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

func TestProgressLine_ShowsSteps(t *testing.T) {
	for _, test := range []struct {
		live bool
		want string
	}{{false, "one\ntwo \\x1b\n"}, {true, clearLine + "one" + clearLine + `two \x1b` + clearLine}} {
		var b bytes.Buffer
		l := &progressLine{w: &b, live: test.live}
		l.step("one")
		l.step("two \x1b")
		l.end()
		if got := b.String(); got != test.want {
			t.Errorf("live %t: got %q", test.live, got)
		}
	}
}
