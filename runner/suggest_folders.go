package runner

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
)

// elsewhere is an error about a folder that has no handlers. If there are some in folders
// beneath it, as beneath the top of a module, it names those.
func (g goTool) elsewhere(ctx context.Context, dir string, patterns []string, err error) error {
	missing, ok := errors.AsType[*NoRegisterError](err)
	if nothing, isNothing := errors.AsType[*PackageError](err); isNothing && strings.HasPrefix(nothing.Reason, noFiles) {
		missing, ok = &NoRegisterError{}, true
	}
	if !ok || len(patterns) != 1 || !isFolder(patterns[0]) || strings.Contains(patterns[0], "...") {
		return err
	}
	top := patterns[0]
	if !filepath.IsAbs(top) {
		top = filepath.Join(dir, top)
	}
	// It is about a hint: what cannot be looked into gives none.
	packages, listErr := g.list(ctx, top, "--", "./...")
	if listErr != nil {
		return err
	}
	found := *missing
	found.Patterns = patterns
	display := displayFrom(dir)
	for _, p := range packages {
		if e, entryErr := findEntry(&p, filepath.Clean); entryErr != nil || !e.register || p.Dir == top {
			continue
		}
		name := display(p.Dir)
		if !filepath.IsAbs(name) {
			name = "./" + name
		}
		found.Beneath = append(found.Beneath, name)
	}
	if len(found.Beneath) == 0 {
		return err
	}
	return &found
}

// noFiles begins what the go command says of a folder without Go files.
const noFiles = "no Go files in "
