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

// Program is an operator to build: the packages with its handlers, and the main program
// that combines them.
type Program struct {
	Packages []string // the import paths of the packages with handlers
	Module   string   // the path of their module
	Dir      string   // the folder of the module

	target  string            // the import path of the main package
	overlay map[string]string // the synthesised files: path to content

	patterns []string // arguments of Load
}

// Load finds the packages with handlers. The patterns have the go command's syntax (import paths, ./folder,
// ./folder/...), relative to dir. It does not compile the packages.
func Load(ctx context.Context, dir string, patterns []string) (*Program, error) {
	program, _, err := load(ctx, dir, patterns)
	return program, err
}

// load is [Load] that also returns the searched folders, even after an error, so that the session can watch the folders for
// a fix.
func load(ctx context.Context, dir string, patterns []string) (*Program, []string, error) {
	if err := checkGoCommand(); err != nil {
		return nil, nil, err
	}
	at, arguments, err := localize(dir, patterns)
	if err != nil {
		return nil, nil, err
	}
	packages, err := listPackages(ctx, at, append([]string{"--"}, arguments...)...)
	if err != nil {
		return nil, []string{at}, suggestDotSlash(dir, patterns, missingModuleError(err, patterns))
	}
	elsewhere := func(err error) error {
		return suggestDotSlash(dir, patterns, suggestFolders(ctx, dir, patterns, err))
	}
	if len(packages) == 0 {
		return nil, []string{at}, elsewhere(&PackageError{Pattern: strings.Join(patterns, " "), Reason: "matches no packages"})
	}
	var folders []string
	for _, p := range packages {
		if err := packageListError(p, patterns); err != nil {
			return nil, []string{at}, elsewhere(err)
		}
		folders = append(folders, p.Dir)
	}
	program, err := combine(packages, patterns, displayFrom(dir))
	if err != nil {
		return nil, folders, elsewhere(err)
	}
	program.patterns = patterns
	return program, folders, nil
}

// localize returns the folder to run the go command in: the first folder that a pattern names. This supports absolute
// patterns, and modules other than the current module.
func localize(dir string, patterns []string) (at string, arguments []string, err error) {
	for _, pattern := range patterns {
		if !isFolder(pattern) {
			if strings.HasSuffix(pattern, ".go") {
				folder := "./" + filepath.ToSlash(filepath.Dir(pattern))
				return "", nil, &PackageError{Pattern: pattern, Reason: "is a file; name its folder instead: " + strings.TrimSuffix(folder, "/."), NotFound: true}
			}
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
			return "", nil, &PackageError{Pattern: pattern, Reason: "no such folder", NotFound: true}
		case err != nil:
			return "", nil, &PackageError{Pattern: pattern, Reason: err.Error()}
		case !info.IsDir():
			return "", nil, &PackageError{Pattern: pattern, Reason: "is a file; name its folder instead", NotFound: true}
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

// isFolder reports whether a pattern is a path of the file system, not an import path, by the rules of the go command.
func isFolder(pattern string) bool {
	return pattern == "." || pattern == ".." || strings.HasPrefix(pattern, "./") ||
		strings.HasPrefix(pattern, "../") || filepath.IsAbs(pattern)
}

const noModule = "is not in a Go module; create one there with: go mod init example.com/operator"

// missingModuleError explains the go command's error about a missing go.mod file.
func missingModuleError(err error, patterns []string) error {
	if isBuildFailure(err) && strings.Contains(err.Error(), "go.mod file not found") {
		return &PackageError{Pattern: strings.Join(patterns, " "), Reason: noModule}
	}
	return err
}

// packageListError returns the error of a package for which "go list" found no source
// files. It returns nil for all other errors, which the compiler reports.
func packageListError(p goPackage, patterns []string) error {
	const mixed = "found packages " // several package names in one folder
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
		reason = "is not in the module of the first package; an operator is built from one module, or from the modules of one go.work: " + reason
	}
	return &PackageError{Pattern: pattern, Reason: reason}
}

// displayFrom returns a function that makes paths below dir relative to it.
func displayFrom(dir string) func(string) string {
	return func(path string) string {
		if rel, err := filepath.Rel(dir, path); err == nil && !strings.HasPrefix(rel, "..") {
			return rel
		}
		return path
	}
}

// combine returns the program of the packages that have handlers.
func combine(packages []goPackage, patterns []string, display func(string) string) (*Program, error) {
	var found []string
	var chosen []goPackage
	var mains []goPackage
	ownMain := false
	for _, p := range packages {
		e, err := findEntryPoint(&p, display)
		if err != nil {
			return nil, err
		}
		found = append(found, e.nearMisses...)
		if !e.register && !e.main {
			// A wildcard may match packages without handlers.
			if len(packages) > 1 && !slices.ContainsFunc(patterns, func(s string) bool { return strings.Contains(s, "...") }) {
				return nil, &NoRegisterError{Patterns: []string{p.ImportPath}, Found: e.nearMisses}
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
				Reason: "they are in different modules, " + first.Path + " and " + p.Module.Path}
		}
	}
	switch {
	case len(mains) > 1:
		return nil, &CombinationError{Packages: []string{mains[0].ImportPath, mains[1].ImportPath}, Reason: "both are programs (package main)"}
	case ownMain && len(chosen) > 1:
		return nil, &CombinationError{Packages: program.Packages, Reason: mains[0].ImportPath + " has its own func main; name it alone, or remove its main"}
	}
	program.Module, program.Dir = chosen[0].Module.Path, chosen[0].Module.Dir
	if ownMain {
		program.target = mains[0].ImportPath
	} else {
		program.synthesise(chosen, mains)
	}
	return program, nil
}
