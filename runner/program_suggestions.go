package runner

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
)

// suggestFolders adds the subfolders with a Register to an error about a folder without one,
// for example for the top folder of a module. It returns other errors unchanged.
func suggestFolders(ctx context.Context, dir string, patterns []string, err error) error {
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
	// The suggestion is optional: without a list there is none.
	packages, listErr := listPackages(ctx, top, "--", "./...")
	if listErr != nil {
		return err
	}
	found := *missing
	found.Patterns = patterns
	display := displayFrom(dir)
	for _, p := range packages {
		if e, entryErr := findEntryPoint(&p, filepath.Clean); entryErr != nil || !e.register || p.Dir == top {
			continue
		}
		name := display(p.Dir)
		if !filepath.IsAbs(name) {
			name = "./" + name
		}
		found.Subfolders = append(found.Subfolders, name)
	}
	if len(found.Subfolders) == 0 {
		return err
	}
	return &found
}

// noFiles is the start of the go command's error about a folder without Go files.
const noFiles = "no Go files in "

// suggestDotSlash replaces the error about an import path that the user meant as a folder, because the go command interprets
// "handlers" as a package of the standard library.
func suggestDotSlash(dir string, patterns []string, err error) error {
	for _, pattern := range patterns {
		folder, _, _ := strings.Cut(pattern, "...")
		if !isFolder(pattern) && folder != "" && isDir(filepath.Join(dir, folder)) {
			return &PackageError{Pattern: pattern, Reason: "no such package; the folder of this name is ./" + pattern, NotFound: true}
		}
	}
	return err
}
