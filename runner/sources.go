package runner

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// sourceSet returns the files that the program is built from, as the go command knows
// them now: those in the main module, in the other modules of a go.work, and in modules
// that are replaced by folders.
func (p *Program) sourceSet(ctx context.Context, since time.Time) (watchSet, error) {
	packages, err := p.tool.list(ctx, p.Dir, append([]string{"-deps", "--"}, p.Packages...)...)
	if err != nil {
		return watchSet{}, err
	}
	folders := make(map[string]bool)
	set := watchSet{since: since}
	for _, pkg := range packages {
		if pkg.Standard || !pkg.Module.local() {
			continue
		}
		// With all that is above it: go.mod is there, and new packages begin there.
		for folder := pkg.Dir; !folders[folder]; folder = filepath.Dir(folder) {
			folders[folder] = true
			if folder == pkg.Module.Dir {
				break
			}
		}
		for _, file := range pkg.EmbedFiles {
			set.extra = append(set.extra, filepath.Join(pkg.Dir, file))
		}
	}
	set.folders = slices.Sorted(maps.Keys(folders))
	return set, nil
}

// watchSet is what a program is built from.
type watchSet struct {
	folders []string
	extra   []string // files that matter by themselves, such as embedded ones

	// since is when the build began that the set belongs to. Files in newly watched
	// folders that changed since were missed by it.
	since time.Time
}

// clockTick is how far the times of files may be behind the clock.
const clockTick = 20 * time.Millisecond

// changedSince returns the files in the folder that have changed since the build that the
// set belongs to.
func changedSince(folder string, s watchSet) []string {
	entries, err := os.ReadDir(folder)
	if err != nil || s.since.IsZero() {
		return nil // a folder that is gone again is noticed as an event
	}
	var files []string
	for _, entry := range entries {
		path := filepath.Join(folder, entry.Name())
		if !isSource(path) && !slices.Contains(s.extra, path) {
			continue
		}
		if info, err := entry.Info(); err == nil && info.ModTime().After(s.since.Add(-clockTick)) {
			files = append(files, path)
		}
	}
	return files
}

// isSource tells that a file of this name can change what is built.
func isSource(path string) bool {
	name := filepath.Base(path)
	if isHidden(name) || strings.HasSuffix(name, "_test.go") {
		return false
	}
	switch filepath.Ext(name) {
	case ".go", ".s", ".S", ".c", ".cc", ".cpp", ".h", ".hh", ".syso", ".mod", ".sum", ".work":
		return true
	}
	return name == "modules.txt"
}

// isHidden tells names that the go command ignores; editors use them for their own files.
func isHidden(path string) bool {
	return strings.ContainsAny(filepath.Base(path)[:1], "._#")
}

// mayHavePackages tells that the go command would look for packages in a folder of this name.
func mayHavePackages(path string) bool {
	name := filepath.Base(path)
	return !isHidden(name) && name != "testdata" && name != "node_modules"
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
