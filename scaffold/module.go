package scaffold

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/mod/modfile"
)

// moduleOf returns the path of the module in a folder, or "" if it has none.
func moduleOf(dir string) (string, error) {
	path := filepath.Join(dir, "go.mod")
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("read the module of the folder: %w", err)
	}
	name := modfile.ModulePath(text)
	if name == "" {
		return "", fmt.Errorf("read the module of the folder: %s names no module; add a module line, or remove the file", path)
	}
	return name, nil
}

// goVersion is the version of Go that the SDK needs, for the go line of go.mod.
const goVersion = "1.26.0"

// apiVersion is the version of the Go types of Kubernetes' own resources, for go.mod. It is the SDK's version of the other
// modules of Kubernetes.
const apiVersion = "v0.37.1"
