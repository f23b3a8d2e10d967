package runner

import (
	"context"
	"path/filepath"
	"slices"
)

// Siblings returns the folders of other operators in the module, relative to the module: packages with a Register that do not
// belong to the program. Packages that the program imports belong to it.
func (p *Program) Siblings(ctx context.Context) ([]string, error) {
	all, err := listPackages(ctx, p.Dir, "--", "./...")
	if err != nil {
		return nil, err
	}
	own, err := listPackages(ctx, p.Dir, append([]string{"-deps", "--"}, p.Packages...)...)
	if err != nil {
		return nil, err
	}
	display := displayFrom(p.Dir)
	var folders []string
	for _, other := range all {
		ofProgram := func(q goPackage) bool { return q.ImportPath == other.ImportPath }
		if e, err := findEntryPoint(&other, filepath.Clean); err != nil || !e.register || slices.ContainsFunc(own, ofProgram) {
			continue // a package that cannot be parsed is no operator yet
		}
		folders = append(folders, "./"+filepath.ToSlash(display(other.Dir)))
	}
	return folders, nil
}
