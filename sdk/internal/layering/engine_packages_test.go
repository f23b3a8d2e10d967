package layering

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// mostFiles is how many files without tests a package of the engine may have: a reader sees all of their names at once.
const mostFiles = 14

// enginePackages calls a function for the folder of each package of the engine, with its files without tests.
func enginePackages(t *testing.T, do func(name string, files []string)) {
	t.Helper()
	root := filepath.Join("..", "engine")
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	folders := []string{"."}
	for _, entry := range entries {
		if entry.IsDir() {
			folders = append(folders, entry.Name())
		}
	}
	for _, folder := range folders {
		all, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		var files []string
		for _, file := range all {
			if !strings.HasSuffix(file, "_test.go") {
				files = append(files, file)
			}
		}
		do(filepath.Join("engine", folder), files)
	}
}

func TestEnginePackages_HaveFewFilesAndALayer(t *testing.T) {
	all := layers(t)
	enginePackages(t, func(name string, files []string) {
		if len(files) > mostFiles {
			t.Errorf("%s has %d files, and may have %d", name, len(files), mostFiles)
		}
		if _, known := all[name]; !known {
			t.Errorf("testdata/layers.txt has no place for %s", name)
		}
	})
}

func TestEngineTypes_EmbedNoOtherEngineType(t *testing.T) {
	enginePackages(t, func(_ string, files []string) {
		for _, path := range files {
			fset := token.NewFileSet()
			file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				structure, ok := n.(*ast.StructType)
				if !ok {
					return true
				}
				for _, field := range structure.Fields.List {
					if len(field.Names) == 0 && !isForeign(field.Type) {
						t.Errorf("%s: give the type the dependencies that it uses, by name", fset.Position(field.Pos()))
					}
				}
				return true
			})
		}
	})
}

// isForeign reports whether an embedded type comes from a package outside of the engine: such a type is qualified, and the
// packages of the engine are not embedded either.
func isForeign(embedded ast.Expr) bool {
	if pointer, ok := embedded.(*ast.StarExpr); ok {
		embedded = pointer.X
	}
	selector, ok := embedded.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	of, ok := selector.X.(*ast.Ident)
	if !ok {
		return false
	}
	_, err := os.Stat(filepath.Join("..", "engine", of.Name))
	return err != nil
}
