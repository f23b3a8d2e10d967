package main

import (
	"os"
	"path/filepath"
)

// layoutFile returns the file in which the workbench keeps what the user has chosen about its screen, next to what
// kopf keeps of clusters. It is empty, and nothing is kept, if the user has no home directory.
func layoutFile() string {
	state := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) { // the XDG specification says that relative paths are ignored
		home, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		state = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(state, "kopf", "workbench.json")
}
