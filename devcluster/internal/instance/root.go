package instance

import (
	"fmt"
	"os"
	"path/filepath"
)

// Root returns the parent of the data directories of all clusters of the user, following the
// XDG specification. It may not exist.
func Root() (string, error) {
	// The XDG specification says that relative paths are ignored.
	if state := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(state) {
		return filepath.Join(state, "kopf", "clusters"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("find the home directory: %w", err)
	}
	return filepath.Join(home, ".local", "state", "kopf", "clusters"), nil
}
