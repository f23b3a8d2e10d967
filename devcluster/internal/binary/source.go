package binary

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/kopf-dev/kopf/internal/origin"
)

const sourceModule = origin.Module + "/devcluster/controlplane"

// source is the source code of the program: a directory of a checkout, or a released version.
type source struct {
	dir     string
	version string
}

// locateSource returns the source in a checkout of kopf, if there is one, so that a change of
// the control plane takes effect at once. Otherwise it returns the version of this kopf.
func locateSource(executable string) source {
	if checkout := origin.Checkout(executable); checkout != "" {
		return source{dir: filepath.Join(checkout, "devcluster", "controlplane")}
	}
	return source{version: origin.Version()}
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
