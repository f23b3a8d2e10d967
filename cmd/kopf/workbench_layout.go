package main

import (
	"path/filepath"

	"github.com/kopf-dev/kopf/internal/workdir"
)

// layoutFile returns the file in which the workbench keeps what the user has chosen about its screen, next to what
// kopf keeps of clusters. It is empty, and nothing is kept, if the user has no home directory.
func layoutFile() string {
	state, err := workdir.StateHome()
	if err != nil {
		return ""
	}
	return filepath.Join(state, "workbench.json")
}
