package testcluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// BinaryVar is the environment variable with the path of the control plane's program.
const BinaryVar = "KOPF_CONTROLPLANE"

// ErrNotFound is the error of a program that was not built yet.
var ErrNotFound = errors.New("no program of the embedded control plane found")

// findProgram returns the path in [BinaryVar], or else the last used program in the user's
// cache, where "kopf cluster prepare" stores them.
func findProgram() (string, error) {
	if program := os.Getenv(BinaryVar); program != "" {
		return program, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the user's cache directory: %w", err)
	}
	return newest(filepath.Join(cache, "kopf", "controlplane", "*", "controlplane"))
}

func newest(pattern string) (string, error) {
	programs, err := filepath.Glob(pattern)
	if err != nil {
		return "", fmt.Errorf("find %s: %w", pattern, err)
	}
	newest, at := "", time.Time{}
	for _, program := range programs {
		// Every use updates the time of the directory.
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
