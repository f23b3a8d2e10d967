package layering

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// listed is a package in the output of "go list".
type listed struct {
	ImportPath, Dir string
	GoFiles         []string
	Imports         []string
	Deps            []string // direct and indirect imports
	Module          *struct{ Path string }
}

// goList returns the output of "go list": only the go command resolves the modules of the packages.
func goList(args ...string) ([]byte, error) {
	out, err := exec.Command("go", append([]string{"list"}, args...)...).Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil, fmt.Errorf("go list %s: %w\n%s", strings.Join(args, " "), err, exit.Stderr)
	}
	return out, err
}

// packages returns the packages of all modules of the SDK, and the packages that they import, by import path. One listing serves all
// tests, because each takes seconds.
var packages = sync.OnceValues(func() (map[string]*listed, error) {
	out, err := goList("-deps", "-json=ImportPath,Dir,GoFiles,Imports,Deps,Module", module+"/...")
	if err != nil {
		return nil, err
	}
	all := map[string]*listed{}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		p := &listed{}
		if err := decoder.Decode(p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("read the output of go list: %w", err)
		}
		all[p.ImportPath] = p
		if strings.HasPrefix(p.ImportPath, module) {
			if err := stat(p); err != nil {
				return nil, err
			}
		}
	}
})

// stat looks at the files of a package: "go test" runs a test again when a file changes that the test itself opened or looked at, and
// does not notice the files that a subprocess reads.
func stat(p *listed) error {
	if _, err := os.ReadDir(p.Dir); err != nil {
		return err
	}
	for _, file := range p.GoFiles {
		if _, err := os.Stat(filepath.Join(p.Dir, file)); err != nil {
			return err
		}
	}
	return nil
}

func packageAt(t *testing.T, path string) *listed {
	t.Helper()
	all, err := packages()
	if err != nil {
		t.Fatal(err)
	}
	if all[path] == nil {
		t.Fatalf("there is no package %s", path)
	}
	return all[path]
}

// linked returns packages and all of their dependencies, sorted.
func linked(t *testing.T, paths ...string) []string {
	t.Helper()
	set := map[string]bool{}
	for _, path := range paths {
		set[path] = true
		for _, dependency := range packageAt(t, path).Deps {
			set[dependency] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// modulesOf returns the modules of packages and of all their dependencies, sorted.
func modulesOf(t *testing.T, paths ...string) []string {
	t.Helper()
	set := map[string]bool{}
	for _, path := range linked(t, paths...) {
		if of := packageAt(t, path).Module; of != nil {
			set[of.Path] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// allowed reads a list, without its comments.
func allowed(t *testing.T, name string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for line := range strings.Lines(string(data)) {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line != "" {
			all = append(all, line)
		}
	}
	return all
}
