package instance

import (
	"path/filepath"

	"github.com/kopf-dev/kopf/internal/workdir"
)

// Root returns the parent of the data directories of all clusters of the user. It may not exist.
func Root() (string, error) {
	state, err := workdir.StateHome()
	if err != nil {
		return "", err
	}
	return filepath.Join(state, "clusters"), nil
}
