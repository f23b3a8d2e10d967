package instance

import (
	"fmt"
	"os"
	"path/filepath"
)

// Root is the directory that holds the data directories of all clusters of the user,
// by the XDG rules. It need not exist.
func Root() (string, error) {
	// The XDG rules ask for relative paths to be ignored.
	if state := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(state) {
		return filepath.Join(state, "kopf", "clusters"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("finding the home directory: %w", err)
	}
	return filepath.Join(home, ".local", "state", "kopf", "clusters"), nil
}
