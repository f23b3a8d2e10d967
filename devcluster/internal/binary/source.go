package binary

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

const (
	module       = "github.com/kopf-dev/kopf"
	sourceModule = module + "/devcluster/controlplane"
)

// source is what the program is built from: a directory of a checkout, or a released version.
type source struct {
	dir     string
	version string
}

// locateSource prefers the checkout that this program was built from, so that a
// change of the control plane is seen at once.
func locateSource(executable string) source {
	_, file, _, _ := runtime.Caller(0)
	// This file is devcluster/internal/binary/source.go.
	candidates := []string{filepath.Join(filepath.Dir(file), "..", "..", "controlplane")}
	for dir := filepath.Dir(executable); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		candidates = append(candidates, filepath.Join(dir, "devcluster", "controlplane"))
	}
	for _, dir := range candidates {
		// With -trimpath the first one is relative to nothing.
		if filepath.IsAbs(dir) && isSource(dir) {
			return source{dir: filepath.Clean(dir)}
		}
	}
	return source{version: releasedVersion(debug.ReadBuildInfo())}
}

func isSource(dir string) bool {
	body, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	return err == nil && modfile.ModulePath(body) == sourceModule
}

// releasedVersion is the version of the tool that others can fetch as well: not that of
// a local build, which Go calls (devel) or marks as dirty.
func releasedVersion(info *debug.BuildInfo, ok bool) string {
	if !ok {
		return ""
	}
	version := ""
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path == module && m.Replace == nil {
			version = m.Version
		}
	}
	if !semver.IsValid(version) || semver.Build(version) != "" {
		return ""
	}
	return version
}

// key names what a build gives: the same key is the same program. A release is immutable; a checkout
// is known by the hash of its files.
func (s source) key() (string, error) {
	platform := runtime.GOOS + "-" + runtime.GOARCH
	if s.dir == "" {
		return s.version + "-" + platform, nil
	}
	hash, err := hashSource(s.dir)
	if err != nil {
		return "", fmt.Errorf("hashing the source of the control plane: %w", err)
	}
	return "devel-" + hash + "-" + platform, nil
}

// hashSource covers what the compiler sees, and neither tests nor documentation.
func hashSource(dir string) (string, error) {
	h := sha256.New()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && path != dir) {
			return filepath.SkipDir
		}
		if d.IsDir() || !isInput(d.Name()) {
			return nil
		}
		body, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		// Lengths keep names and contents apart.
		_, err = fmt.Fprintf(h, "%d %s %d\n%s", len(rel), filepath.ToSlash(rel), len(body), body)
		return err
	})
	return hex.EncodeToString(h.Sum(nil))[:16], err
}

func isInput(name string) bool {
	if name == "go.mod" || name == "go.sum" {
		return true
	}
	return strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go")
}
