package instance

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// readGates returns the feature gates with which the cluster of a directory was started last.
func readGates(dir string) (string, error) {
	body, err := os.ReadFile(filepath.Join(dir, gatesFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read the feature gates: %w", err)
	}
	return strings.TrimSuffix(string(body), "\n"), nil
}

func writeGates(dir, gates string) error {
	path := filepath.Join(dir, gatesFile)
	if gates == "" {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("forget the feature gates: %w", err)
		}
		return nil
	}
	next := path + ".new"
	err := os.WriteFile(next, []byte(gates+"\n"), 0o600)
	if err == nil {
		err = os.Rename(next, path)
	}
	if err != nil {
		return fmt.Errorf("remember the feature gates: %w", err)
	}
	return nil
}

// rememberGates makes a cluster keep its feature gates when it is started again without any. They are written
// before the start, since others read them as soon as the cluster is usable; undo is for a failed start.
func (c *Config) rememberGates() (undo func() error, err error) {
	before, err := readGates(c.Dir)
	if err != nil {
		return nil, err
	}
	if c.FeatureGates == "" || c.FeatureGates == before {
		c.FeatureGates = before
		return func() error { return nil }, nil
	}
	return func() error { return writeGates(c.Dir, before) }, writeGates(c.Dir, c.FeatureGates)
}
