package kopf

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"
)

// maxExported limits the number of functions, methods and types that "go doc -all" shows of this
// package. Lower it when names go; raise it only with a reason in docs/decisions/public-api.md.
const maxExported = 205

func TestSurface_FitsOnAPage(t *testing.T) {
	functions, methods, types := exported(t)
	if sum := functions + methods + types; sum > maxExported {
		t.Errorf("%d functions, %d methods and %d types are exported: %d names; want at most %d. Export nothing, or move a family to a package of its own",
			functions, methods, types, sum, maxExported)
	}
	t.Logf("%d functions, %d methods, %d types", functions, methods, types)
}

// exported returns the numbers of exported names outside of tests.
func exported(t *testing.T) (functions, methods, types int) {
	t.Helper()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	var files []*ast.File
	for _, entry := range entries {
		name := entry.Name()
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fset, name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	pkg, err := doc.NewFromFiles(fset, files, "github.com/kopf-dev/kopf/sdk/kopf")
	if err != nil {
		t.Fatal(err)
	}
	functions, types = len(pkg.Funcs), len(pkg.Types)
	for _, typ := range pkg.Types {
		functions += len(typ.Funcs)
		methods += len(typ.Methods)
	}
	return functions, methods, types
}
