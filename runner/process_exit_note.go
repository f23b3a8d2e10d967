package runner

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// exitNoteEnv is the environment variable with the path of the file in which an operator records its start and its end.
const exitNoteEnv = "KOPF_EXIT_NOTE"

// exitNote is the path of the note of a program.
func exitNote(binary string) string { return filepath.Join(filepath.Dir(binary), "exit-note") }

// explainExit returns the reason for an exit that the operator could not report itself, because its code or a signal ended
// the process. It returns an empty string if kopf.Main ended the operator, or if the program does not use kopf.Main. Signal
// is the signal that killed the operator; 0 if none did.
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
