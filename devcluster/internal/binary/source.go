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

// version is the version of this kopf, which is set in releases. If it is empty, it is that of the main
// module.
var version string

// source is what the program is built from: a directory of a checkout, or a released version.
type source struct {
	dir     string
	version string
}

// locateSource returns the source in a checkout of kopf, if there is one, so that a change of
// the control plane takes effect at once. Otherwise it returns the version of this kopf.
func locateSource(executable string) source {
	_, file, _, _ := runtime.Caller(0)
	// This file is devcluster/internal/binary/source.go.
	candidates := []string{filepath.Join(filepath.Dir(file), "..", "..", "controlplane")}
	for dir := filepath.Dir(executable); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		candidates = append(candidates, filepath.Join(dir, "devcluster", "controlplane"))
	}
	for _, dir := range candidates {
		// With -trimpath the first candidate is not a path of the file system.
		if filepath.IsAbs(dir) && isSource(dir) {
			return source{dir: filepath.Clean(dir)}
		}
	}
	if version != "" {
		return source{version: version}
	}
	return source{version: releasedVersion(debug.ReadBuildInfo())}
}

func isSource(dir string) bool {
	body, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	return err == nil && modfile.ModulePath(body) == sourceModule
}

// releasedVersion returns the version of this kopf if it can be downloaded, or "" for a local
// build, whose version is (devel) or marked as dirty.
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

// key identifies the built program in the cache. The key of a checkout has the hash of its
// files.
func (s source) key() (string, error) {
	platform := runtime.GOOS + "-" + runtime.GOARCH
	if s.dir == "" {
		return s.version + "-" + platform, nil
	}
	hash, err := hashSource(s.dir)
	if err != nil {
		return "", fmt.Errorf("hash the source of the control plane: %w", err)
	}
	return "devel-" + hash + "-" + platform, nil
}

// hashSource hashes the files that the compiler reads: neither tests nor documentation.
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
		// The lengths separate names and contents unambiguously.
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
