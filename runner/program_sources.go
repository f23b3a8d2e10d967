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

// watchSet is the set of source folders and files of a program.
type watchSet struct {
	folders []string
	extra   []string // additional files, such as embedded files

	// since is the start of the set's build. The build does not contain later changes in newly watched folders.
	since time.Time
}

// sourceSet returns the sources of the program that a user may edit, from the go command: the sources of the main module, of
// the other modules of a go.work, and of modules that are replaced by folders.
func (p *Program) sourceSet(ctx context.Context, since time.Time) (watchSet, error) {
	packages, err := listPackages(ctx, p.Dir, append([]string{"-deps", "--"}, p.Packages...)...)
	if err != nil {
		return watchSet{}, err
	}
	folders := make(map[string]bool)
	set := watchSet{since: since}
	for _, pkg := range packages {
		if pkg.Standard || !pkg.Module.local() {
			continue
		}
		// Include the parent folders: go.mod is there, and new packages appear there.
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

// clockTick is the maximal lag of file times behind the clock.
const clockTick = 20 * time.Millisecond

// changedSince returns the files in the folder that have changed since the set's build.
func changedSince(folder string, s watchSet) []string {
	entries, err := os.ReadDir(folder)
	if err != nil || s.since.IsZero() {
		return nil // the deletion of the folder is a separate event
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

// isSource reports whether the build reads files of this name.
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

// isHidden reports whether the go command ignores the name. Editors use such names for
// temporary files.
func isHidden(path string) bool {
	return strings.ContainsAny(filepath.Base(path)[:1], "._#")
}

// mayHavePackages reports whether the go command looks for packages in a folder of this name.
func mayHavePackages(path string) bool {
	name := filepath.Base(path)
	return !isHidden(name) && name != "testdata" && name != "node_modules"
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
