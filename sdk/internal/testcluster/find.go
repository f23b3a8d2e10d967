package testcluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// BinaryVar is the environment variable that names the program of the control plane.
const BinaryVar = "KOPF_CONTROLPLANE"

// ErrNotFound is the error of a program that nobody has built yet.
var ErrNotFound = errors.New("the program of the embedded control plane is not there")

// Find returns the program that is named, or else the one used last of those in the
// user's cache, where "kopf cluster prepare" puts them.
func Find() (string, error) {
	if program := os.Getenv(BinaryVar); program != "" {
		return program, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("the user's cache directory: %w", err)
	}
	return newest(filepath.Join(cache, "kopf", "controlplane", "*", "controlplane"))
}

func newest(pattern string) (string, error) {
	programs, err := filepath.Glob(pattern)
	if err != nil {
		return "", fmt.Errorf("look for %s: %w", pattern, err)
	}
	newest, at := "", time.Time{}
	for _, program := range programs {
		// The directory is touched with every use, the program is not.
		info, err := os.Stat(filepath.Dir(program))
		if err == nil && info.ModTime().After(at) {
			newest, at = program, info.ModTime()
		}
	}
	if newest == "" {
		return "", fmt.Errorf("%w: %s", ErrNotFound, pattern)
	}
	return newest, nil
}
