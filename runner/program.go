package runner

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Program is an operator's program: the packages with its handlers, and how they
// become one executable.
type Program struct {
	Packages []string // import paths of those with handlers
	Module   string   // the path of their module
	Dir      string   // of the module

	tool    goTool
	target  string            // what is built: the import path of the main package
	overlay map[string]string // files that are not there: path to text

	dir      string // as given to Load
	patterns []string
}

// Load finds the packages with handlers by Go's package patterns (import paths,
// ./folders, ./folders/...), as seen from the folder.
func Load(ctx context.Context, dir string, patterns []string) (*Program, error) {
	program, _, err := load(ctx, dir, patterns)
	return program, err
}

// load is [Load], and tells of the folders that it has looked into even if there is
// nothing to be found in them yet.
func load(ctx context.Context, dir string, patterns []string) (*Program, []string, error) {
	tool, err := findGo()
	if err != nil {
		return nil, nil, err
	}
	at, arguments, err := localize(dir, patterns)
	if err != nil {
		return nil, nil, err
	}
	packages, err := tool.list(ctx, at, append([]string{"--"}, arguments...)...)
	if err != nil {
		return nil, []string{at}, listError(err, patterns)
	}
	elsewhere := func(err error) error { return tool.elsewhere(ctx, dir, patterns, err) }
	if len(packages) == 0 {
		return nil, []string{at}, &PackageError{Pattern: strings.Join(patterns, " "), Reason: "matches no packages"}
	}
	var folders []string
	for _, p := range packages {
		if err := listingError(p, patterns); err != nil {
			return nil, []string{at}, elsewhere(err)
		}
		folders = append(folders, p.Dir)
	}
	program, err := combine(packages, patterns, displayFrom(dir))
	if err != nil {
		return nil, folders, elsewhere(err)
	}
	program.tool, program.dir, program.patterns = tool, dir, patterns
	return program, folders, nil
}

// localize decides where the go command is run: in the first folder that is named, so
// that a module elsewhere than the current one works too. The patterns become absolute.
func localize(dir string, patterns []string) (at string, arguments []string, err error) {
	for _, pattern := range patterns {
		if !isFolder(pattern) {
			arguments = append(arguments, pattern)
			continue
		}
		path, rest := pattern, ""
		if i := strings.Index(pattern, "..."); i >= 0 {
			path, rest = filepath.Dir(pattern[:i]+"x"), pattern[i:]
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return "", nil, &PackageError{Pattern: pattern, Reason: "no such folder"}
		case err != nil:
			return "", nil, &PackageError{Pattern: pattern, Reason: err.Error()}
		case !info.IsDir():
			return "", nil, &PackageError{Pattern: pattern, Reason: "a file; give its folder, which is the package"}
		}
		if at == "" {
			at = path
		}
		if rest != "" {
			path = filepath.Join(path, rest)
		}
		arguments = append(arguments, path)
	}
	if at == "" {
		at = dir
	}
	return at, arguments, nil
}

// isFolder tells patterns of the file system from import paths, as the go command does.
func isFolder(pattern string) bool {
	return pattern == "." || pattern == ".." || strings.HasPrefix(pattern, "./") ||
		strings.HasPrefix(pattern, "../") || filepath.IsAbs(pattern)
}

const noModule = "is in no Go module; create one there: go mod init example.com/operator"

// listError puts the commonest words of the go command into a context.
func listError(err error, patterns []string) error {
	if isBuildFailure(err) && strings.Contains(err.Error(), "go.mod file not found") {
		return &PackageError{Pattern: strings.Join(patterns, " "), Reason: noModule}
	}
	return err
}

// listingError turns what go list says of a package into an error, if it means that
// there is no package to look into. Everything else is the compiler's to report.
func listingError(p listed, patterns []string) error {
	const mixed = "found packages " // of several names in one folder
	if p.Error == nil || len(p.GoFiles)+len(p.CgoFiles) > 0 && !strings.HasPrefix(p.Error.Err, mixed) {
		return nil
	}
	reason := strings.TrimPrefix(p.Error.Err, "go: ")
	pattern := strings.Join(patterns, " ")
	if len(p.Match) > 0 {
		pattern = p.Match[0]
	}
	switch {
	case strings.Contains(reason, "outside main module"), strings.Contains(reason, "not contained in"), strings.Contains(reason, "is in the workspace"):
		reason = "is in another module than the first package, and one operator is built from one module (or from those of a go.work): " + reason
	}
	return &PackageError{Pattern: pattern, Reason: reason}
}

// displayFrom returns a function that shortens paths for the eyes of a person who is in
// the folder.
func displayFrom(dir string) func(string) string {
	return func(path string) string {
		if rel, err := filepath.Rel(dir, path); err == nil && !strings.HasPrefix(rel, "..") {
			return rel
		}
		return path
	}
}

// combine makes a program of those packages that have handlers.
func combine(packages []listed, patterns []string, display func(string) string) (*Program, error) {
	var found []string
	var chosen []listed
	var mains []listed
	ownMain := false
	for _, p := range packages {
		e, err := findEntry(&p, display)
		if err != nil {
			return nil, err
		}
		found = append(found, e.found...)
		if !e.register && !e.main {
			// Behind a wildcard, packages without handlers are to be expected.
			if len(packages) > 1 && !slices.ContainsFunc(patterns, func(s string) bool { return strings.Contains(s, "...") }) {
				return nil, &NoRegisterError{Patterns: []string{p.ImportPath}, Found: e.found}
			}
			continue
		}
		chosen = append(chosen, p)
		if p.Name == "main" {
			mains = append(mains, p)
			ownMain = ownMain || e.main
		}
	}
	if len(chosen) == 0 {
		return nil, &NoRegisterError{Patterns: patterns, Found: found}
	}

	program := &Program{}
	for _, p := range chosen {
		program.Packages = append(program.Packages, p.ImportPath)
		if p.Module == nil {
			return nil, &PackageError{Pattern: p.ImportPath, Reason: noModule}
		}
		if first := chosen[0].Module; p.Module.Path != first.Path {
			return nil, &CombinationError{Packages: []string{chosen[0].ImportPath, p.ImportPath},
				Reason: "they are in the modules " + first.Path + " and " + p.Module.Path}
		}
	}
	switch {
	case len(mains) > 1:
		return nil, &CombinationError{Packages: []string{mains[0].ImportPath, mains[1].ImportPath}, Reason: "both are programs (package main)"}
	case ownMain && len(chosen) > 1:
		return nil, &CombinationError{Packages: program.Packages, Reason: mains[0].ImportPath + " has a func main of its own; give it alone, or remove its main"}
	}
	program.Module, program.Dir = chosen[0].Module.Path, chosen[0].Module.Dir
	if ownMain {
		program.target = mains[0].ImportPath
	} else {
		program.synthesise(chosen, mains)
	}
	return program, nil
}
