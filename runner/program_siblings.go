package runner

import (
	"context"
	"path/filepath"
	"slices"
)

// Siblings returns the folders of the module's other packages with a Register, relative to the module: those of other
// operators. Packages that the program imports are part of it.
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
