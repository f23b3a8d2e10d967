package main

import (
	"path/filepath"
	"syscall"
	"testing"
)

// TestWorkbench_AttachmentShowsYAMLAndEvents looks into an operator that another process runs, in a terminal.
func TestWorkbench_AttachmentShowsYAMLAndEvents(t *testing.T) {
	t.Parallel()
	state := shortDir(t)
	address := "unix:" + filepath.Join(state, "i")
	operator, _, _ := withCluster(t, state, "run", "./failing", "--apply", "failing/object.yaml", "--inspect="+address)
	out, said := outputFile(t)
	operator.Stdout, operator.Stderr = out, out
	if err := operator.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if operator.ProcessState == nil {
			operator.Process.Signal(syscall.SIGTERM) //nolint:errcheck // it may have ended
			operator.Wait()                          //nolint:errcheck
		}
		if t.Failed() {
			t.Log(said())
		}
	})
	eventually(t, "running", func() bool {
		_, err := operatorChoice{inspect: address}.one(t.Context())
		return err == nil
	})
	term := newTerminal(t, terminalOptions{dir: "testdata"}, "attach", address)
	term.shows("✗ failed", "refused")
	term.types("/", "r", "e", "f", "u", "s", "e", "d", "Enter", "y")
	term.shows("default/refused  ✗ failed", "kind: ConfigMap", "managedFields: … ", "  name: refused")
	term.types("v")
	term.shows("! warning", "Handler 'refuse' failed permanently: no such thing today")
	term.types("e")
	term.shows("kopf attach changes no objects; kopf dev does")

	if err := operator.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	term.shows("! the operator is not running; these are the events that were seen last", "no such thing today")
	term.types("q")
	term.shows("ended with 0")
}
