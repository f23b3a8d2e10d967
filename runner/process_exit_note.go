package runner

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// exitNoteEnv names the file in which an operator notes that it runs, and that it has ended.
const exitNoteEnv = "KOPF_EXIT_NOTE"

// exitNote is the path of the note of a program.
func exitNote(binary string) string { return filepath.Join(filepath.Dir(binary), "exit-note") }

// explainExit returns why an operator has ended if it cannot have said so itself: its code ended the
// process. It returns an empty text if the operator ended as programs with kopf.Main do, or if it is
// not known, since the operator is no such program. The signal is the one that killed it; 0 if none did.
func explainExit(note string, code int, signal syscall.Signal) (string, error) {
	state, err := os.ReadFile(note)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("read how the operator has ended: %w", err)
	case string(state) != "running":
		return "", nil
	case signal != 0:
		return fmt.Sprintf("the operator was killed by signal %d", signal), nil
	}
	return fmt.Sprintf("the operator ended with code %d without being asked: its code has called os.Exit or log.Fatal, or it has crashed; "+
		"return an error from the handler instead", code), nil
}
