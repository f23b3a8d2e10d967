package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestWorkbench_ActsOnObjects uses the workbench as a person does: in a terminal, with a real operator and a real control
// plane.
func TestWorkbench_ActsOnObjects(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	gate, editor := filepath.Join(dir, "gate"), filepath.Join(dir, "editor")
	writeFile(t, editor, "#!/bin/sh\nsed -i 's/size: small/size: large/' \"$1\"\n", 0o700)
	term := newTerminal(t, terminalOptions{
		dir: "testdata", env: []string{"KOPF_TEST_GATE=" + gate, "EDITOR=" + editor, "TMPDIR=" + dir},
	}, "dev", "./guarded", "--apply", "guarded/objects.yaml", "--ephemeral", "-n", "default")

	// A failing handler is retried now, and succeeds.
	term.shows("the gate is closed")
	term.types("/", "o", "n", "e", "Enter", "Enter")
	term.shows("default/one  ◔ waiting", "◌", "in 2h")
	writeFile(t, gate, "", 0o600)
	term.types("r")
	term.shows("default/one  ✓ settled")

	term.types("v")
	term.shows("✓ normal", "Handler 'create' failed temporarily: the gate is closed")

	// The object is edited: the update handler runs.
	term.types("y")
	term.shows("  size: small", "managedFields: … ")
	term.types("e")
	term.shows("✓ edited one: data.size") // for some seconds only
	term.shows("  size: large")
	term.types("h")
	term.shows("✓ done         update")

	// It is handled again from scratch.
	term.types("X")
	term.shows("Handle one again from scratch?", "If their filters match, these run: create.")
	term.types("y")
	term.shows("✓ handling one from scratch")
	term.shows("✓ done         create")

	// It is deleted, with a confirmation.
	term.types("D")
	term.shows("Delete cm default/one?", "If their filters match, these run: release.", "It owns no objects.")
	term.types("Enter") // keeps it
	term.shows("default/one  ✓ settled")
	term.types("D")
	term.shows("Delete cm default/one?")
	term.types("y")
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
