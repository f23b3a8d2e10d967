package runner

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
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
