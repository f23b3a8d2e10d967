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

// TestWorkbench_ActsOnObjects uses the workbench as a person does: in a terminal, with a real operator and a real control
// plane.
func TestWorkbench_ActsOnObjects(t *testing.T) {
	dir := t.TempDir()
	gate, editor := filepath.Join(dir, "gate"), filepath.Join(dir, "editor")
	writeFile(t, editor, "#!/bin/sh\nsed -i 's/size: small/size: large/' \"$1\"\n", 0o700)
	term := newTerminal(t, 100, 40, "KOPF_TEST_GATE="+gate+" EDITOR="+editor+" TMPDIR="+dir,
		"dev", "./guarded", "--apply", "guarded/objects.yaml", "--ephemeral", "-n", "default")

	// A failing handler is retried now, and succeeds.
	term.shows("the gate is closed")
	term.types("/", "o", "n", "e", "Enter", "Enter")
	term.shows("default/one  ↻ retrying", "◌", "in 60m")
	writeFile(t, gate, "", 0o600)
	term.types("r")
	term.shows("default/one  ✓ settled")

	term.types("v")
	term.shows("! warning", "Handler 'create' failed temporarily: the gate is closed")

	// The object is edited: the handler of updates runs.
	term.types("y")
	term.shows("  size: small", "managedFields: … ")
	term.types("e")
	term.shows("✓ edited one: data.size", "  size: large")
	term.types("h")
	term.shows("✓ done         update")

	// It is handled again from scratch.
	term.types("X")
	term.shows("Handle one again from scratch?", "run again: create")
	term.types("y")
	term.shows("✓ handling one from scratch")
	term.shows("✓ done         create")

	// It is deleted, with a confirmation.
	term.types("D")
	term.shows("Delete cm default/one?", "Handlers that run: release.", "It owns no objects.")
	term.types("Enter") // keeps it
	term.shows("default/one  ✓ settled")
	term.types("D", "y")
	term.shows("default/one  ✓ deleted", "This object was deleted")
	if left, err := filepath.Glob(filepath.Join(dir, "kopf-*.yaml")); err != nil || len(left) > 0 {
		t.Errorf("edits have left %v, %v", left, err)
	}
}

func writeFile(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// terminal is a tmux server of its own, with one window in which the command runs.
type terminal struct {
	t      *testing.T
	socket string
}

func newTerminal(t *testing.T, w, h int, environment string, args ...string) *terminal {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skipf("there is no tmux to run it in: %v", err)
	}
	program, err := devcluster.Prepare(t.Context(), devcluster.Options{})
	if err != nil {
		t.Fatal(err)
	}
	state := shortDir(t)
	command := "cd testdata && LC_ALL=C.UTF-8 " + asCommand + "=1 XDG_STATE_HOME=" + state + " KOPF_CONTROLPLANE=" + program + " " +
		environment + " " + os.Args[0] + " " + strings.Join(args, " ") + "; echo ended with $?; read x"
	term := &terminal{t, filepath.Join(state, "t")}
	term.tmux("-f", "/dev/null", "new-session", "-d", "-s", "w", "-x", strconv.Itoa(w), "-y", strconv.Itoa(h), command)
	t.Cleanup(func() {
		// The command gets a hangup, and stops what it has started.
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
		time.Sleep(50 * time.Millisecond) // there is no other way to wait for the screen of another process
	}
	x.t.Fatalf("%q is not on the screen:\n%s", texts, screen)
}
