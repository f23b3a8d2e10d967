package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/devcluster"
)

// terminal is a tmux server of its own, with one window in which the command runs.
type terminal struct {
	t      *testing.T
	socket string
	state  string // the folder of the clusters
}

// terminalOptions configures a terminal.
type terminalOptions struct {
	dir string   // working directory of the command
	env []string // variables besides those of the test
}

// newTerminal runs the command kopf in a terminal of 100 columns and 40 lines.
func newTerminal(t *testing.T, o terminalOptions, args ...string) *terminal {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skipf("there is no tmux to run it in: %v", err)
	}
	program, err := devcluster.Prepare(t.Context(), devcluster.Options{})
	if err != nil {
		t.Fatal(err)
	}
	state := shortDir(t)
	env := append([]string{"LC_ALL=C.UTF-8", asCommand + "=1", "XDG_STATE_HOME=" + state, "KOPF_CONTROLPLANE=" + program}, o.env...)
	command := "cd " + o.dir + " && " + strings.Join(env, " ") + " " + os.Args[0] + " " + strings.Join(args, " ") + "; echo ended with $?; read x"
	term := &terminal{t, filepath.Join(state, "t"), state}
	term.tmux("-f", "/dev/null", "new-session", "-d", "-s", "w", "-x", "100", "-y", "40", command)
	t.Cleanup(func() {
		// The command gets SIGHUP, and stops its child processes.
		if out, err := exec.Command("tmux", "-S", term.socket, "kill-server").CombinedOutput(); err != nil {
			t.Logf("tmux did not end: %v: %s", err, out)
		}
		eventually(t, "gone", func() bool { return len(processesOf(t, state)) == 0 })
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
	x.t.Helper()
	x.tmux(append([]string{"send-keys", "-t", "w"}, keys...)...)
}

func (x *terminal) resize(w, h int) {
	x.t.Helper()
	x.tmux("resize-window", "-t", "w", "-x", strconv.Itoa(w), "-y", strconv.Itoa(h))
}

// screen returns the contents of the screen.
func (x *terminal) screen() string {
	x.t.Helper()
	return x.tmux("capture-pane", "-p", "-t", "w")
}

// shows waits until all texts are on the screen.
func (x *terminal) shows(texts ...string) {
	x.t.Helper()
	x.wait(func(screen string) bool {
		for _, text := range texts {
			if !strings.Contains(screen, text) {
				return false
			}
		}
		return true
	}, "%q is not on the screen", texts)
}

// hides waits until a text is no longer on the screen.
func (x *terminal) hides(text string) {
	x.t.Helper()
	x.wait(func(screen string) bool { return !strings.Contains(screen, text) }, "%q is still on the screen", text)
}

// wait waits until the screen is as wanted. The first screen may come late: the operator is compiled before.
func (x *terminal) wait(is func(screen string) bool, format string, args ...any) {
	x.t.Helper()
	screen := ""
	for deadline := time.Now().Add(4 * time.Minute); time.Now().Before(deadline); {
		if screen = x.screen(); is(screen) {
			return
		}
		time.Sleep(50 * time.Millisecond) // there is no other way to wait for the screen of another process
	}
	x.t.Fatalf(format+":\n%s", append(args, screen)...)
}
