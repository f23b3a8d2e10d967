package main

import (
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
)

// planBuild is a program that runs on a copy.
type planBuild struct {
	name, commit string // empty for this build
	binary       string
	command      string   // command of a program that is not known to have the inspector; empty for operators with this SDK
	dir          string   // its current folder
	root         string   // folder of its repository; empty without a git ref to compare with
	shown        []string // more folders that it can read in a box
}

// visible returns the folders that the program can read in a box, in addition to the folder of the plan: the shown folders, and the current
// folder, unless it contains a home folder.
func (b planBuild) visible() []string {
	all := slices.Clone(b.shown)
	if !hasHome(b.dir) {
		all = append(all, b.dir)
	}
	return all
}

// hasHome reports whether a home folder of the user is in a folder, or is the folder.
func hasHome(folder string) bool {
	return filepath.Clean(folder) == "/" || slices.ContainsFunc(homes(), func(home string) bool { return isWithin(home, folder) })
}

// homes returns the home folder according to the environment, and the home folder according to the system. Both may have credentials.
func homes() []string {
	var all []string
	if home, err := os.UserHomeDir(); err == nil {
		all = append(all, home)
	}
	if current, err := user.Current(); err == nil {
		all = append(all, current.HomeDir)
	}
	return slices.DeleteFunc(all, func(home string) bool { return !filepath.IsAbs(home) || filepath.Clean(home) == "/" })
}

// isWithin reports whether a path is a folder, or in it.
func isWithin(path, folder string) bool {
	for _, name := range []*string{&path, &folder} {
		if resolved, err := filepath.EvalSymlinks(*name); err == nil {
			*name = resolved
		}
	}
	within, err := filepath.Rel(folder, path)
	return err == nil && within != ".." && !strings.HasPrefix(within, "../")
}

// places returns the folders of the build, by their placeholders.
func (b *planBuild) places() map[string]string {
	return map[string]string{"{folder}": b.dir, "{repository}": b.root}
}
