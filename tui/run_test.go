package tui

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/runner"
)

func TestRun_EndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	in, keep := io.Pipe()
	t.Cleanup(func() { _ = keep.Close() })
	done := make(chan error, 1)
	var out bytes.Buffer
	go func() {
		done <- Run(ctx, newFakeSource(demo(noon)), Options{
			Input: in, Output: &out, Environ: []string{"TERM=xterm-256color"}, ClusterStays: true,
			Stays: func(*runner.State) []string { return []string{"The cluster goes on: kopf cluster stop"} },
		})
	}()
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"8 objects with our finalizer", "The cluster goes on: kopf cluster stop"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q was not told at the end", want)
		}
	}
}

// TestRun_InATerminal runs the whole program in a terminal of tmux: the
// other tests do not have the path from the keyboard and to the screen.
func TestRun_InATerminal(t *testing.T) {
	term := newTerminal(t, 80, 24, "normal")
	term.shows("✗  2 need you", "▌ ✗ failed")
	term.types("j", "j", "j", "j", "j")
	term.shows("resize failed, attempt 2 of 5")
	term.types("w")
	term.shows("annotation kopf.dev/mirror is absent, must be there")
	term.tmux("resize-window", "-t", "w", "-x", "200", "-y", "50")
	term.shows("─ log of web-cache ─")
	term.tmux("resize-window", "-t", "w", "-x", "30", "-y", "6")
	term.shows("1 Resources › web-cache Why")
	term.tmux("resize-window", "-t", "w", "-x", "80", "-y", "24")
	term.types("Escape", "/", "s", "t", "a", "g", "i", "n", "g", "Enter")
	term.shows("/staging  2 of 11")
	term.types("?")
	term.shows("keys in Resources")
	term.types("Escape", "q")
	term.shows("This stays:")
	term.types("q")
	term.shows("and 5 more\n", "ended with 0")
}

// terminal is a tmux server of its own with one window.
type terminal struct {
	t      *testing.T
	socket string
}

func newTerminal(t *testing.T, w, h int, scenario string) *terminal {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skipf("there is no tmux to run it in: %v", err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	term := &terminal{t, t.TempDir() + "/s"}
	command := "LC_ALL=C.UTF-8 " + demoVariable + "=" + scenario + " " + self + "; echo ended with $?; read x"
	term.tmux("-f", "/dev/null", "new-session", "-d", "-s", "w", "-x", strconv.Itoa(w), "-y", strconv.Itoa(h), command)
	t.Cleanup(func() {
		if out, err := exec.Command("tmux", "-S", term.socket, "kill-server").CombinedOutput(); err != nil {
			t.Logf("tmux did not end: %v: %s", err, out)
		}
	})
	return term
}

func (x *terminal) tmux(args ...string) string {
	x.t.Helper()
	out, err := exec.Command("tmux", append([]string{"-u", "-S", x.socket}, args...)...).CombinedOutput()
	if err != nil {
		x.t.Fatalf("tmux %v: %v: %s", args, err, out)
	}
	return string(out)
}

func (x *terminal) types(keys ...string) {
	x.tmux(append([]string{"send-keys", "-t", "w"}, keys...)...)
}

// shows waits until all texts are on the screen.
func (x *terminal) shows(texts ...string) {
	x.t.Helper()
	screen := ""
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); {
		screen = x.tmux("capture-pane", "-p", "-t", "w")
		missing := false
		for _, text := range texts {
			missing = missing || !strings.Contains(screen, text)
		}
		if !missing {
			return
		}
		time.Sleep(20 * time.Millisecond) // there is no other way to wait for the screen of another process
	}
	x.t.Fatalf("%q is not on the screen:\n%s", texts, screen)
}
