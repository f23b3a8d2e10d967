package main

import (
	"path/filepath"

	"github.com/kopf-dev/kopf/internal/workdir"
)

// layoutFile returns the file with the user's choices about the workbench's screen, next to kopf's data of clusters.
// Without a home directory, it returns an empty string, and the choices are not stored.
func layoutFile() string {
	state, err := workdir.StateHome()
	if err != nil {
		return ""
	}
	return filepath.Join(state, "workbench.json")
}
