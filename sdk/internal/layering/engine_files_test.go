package layering

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const enginePath = module + "/internal/engine"

// enginePackage is package engine, type-checked, without its tests.
type enginePackage struct {
	fset  *token.FileSet
	files []*ast.File
	info  *types.Info
	types *types.Package
}

// loadedEngine is set by the first test that loads the package; the tests run one after the other.
var loadedEngine *enginePackage

func loadEngine(t *testing.T) *enginePackage {
	t.Helper()
	if loadedEngine != nil {
		return loadedEngine
	}
	exports := map[string]string{}
	// With the flag of the other tests, nothing is compiled twice.
	for _, pair := range golist(t, "-race", "-export", "-deps", "-f", "{{.ImportPath}}={{.Export}}", enginePath) {
		path, file, _ := strings.Cut(pair, "=")
		exports[path] = file
	}
	p := &enginePackage{fset: token.NewFileSet(), info: &types.Info{
		Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
	}}
	for _, path := range golist(t, "-f", `{{$dir := .Dir}}{{range .GoFiles}}{{$dir}}/{{.}} {{end}}`, enginePath) {
		file, err := parser.ParseFile(p.fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		p.files = append(p.files, file)
	}
	lookup := func(path string) (io.ReadCloser, error) {
		data, err := os.ReadFile(exports[path])
		return io.NopCloser(bytes.NewReader(data)), err
	}
	config := types.Config{Importer: importer.ForCompiler(p.fset, "gc", lookup)}
	checked, err := config.Check(enginePath, p.fset, p.files, p.info)
	if err != nil {
		t.Fatal(err)
	}
	p.types = checked
	loadedEngine = p
	return p
}

func (p *enginePackage) fileOf(pos token.Pos) string {
	return filepath.Base(p.fset.Position(pos).Filename)
}

// arrows are the uses of what other files declare: functions, types, methods, fields, variables.
func (p *enginePackage) arrows() map[string][]token.Pos {
	found := map[string][]token.Pos{}
	for ident, used := range p.info.Uses {
		if used.Pkg() != p.types || !used.Pos().IsValid() {
			continue
		}
		from, to := p.fileOf(ident.Pos()), p.fileOf(used.Pos())
		if from != to {
			arrow := from + " " + to
			found[arrow] = append(found[arrow], ident.Pos())
		}
	}
	return found
}

func TestEngineFiles_UseOnlyFilesBelow(t *testing.T) {
	p := loadEngine(t)
	order := allowed(t, "engine_files.txt")
	for _, file := range p.files {
		if name := p.fileOf(file.Package); name != "doc.go" && !slices.Contains(order, name) {
			t.Errorf("%s has no place in testdata/engine_files.txt", name)
		}
	}
	arrows := p.arrows()
	for _, arrow := range slices.Sorted(maps.Keys(arrows)) {
		from, to, _ := strings.Cut(arrow, " ")
		if slices.Index(order, to) > slices.Index(order, from) {
			continue
		}
		places := make([]string, 0, len(arrows[arrow]))
		for _, pos := range arrows[arrow] {
			at := p.fset.Position(pos)
			places = append(places, fmt.Sprintf("%s:%d", filepath.Base(at.Filename), at.Line))
		}
		slices.Sort(places)
		t.Errorf("%s uses %s, which is above it: %s", from, to, strings.Join(slices.Compact(places), " "))
	}
}

func TestEngineTypes_EmbedNoOtherEngineType(t *testing.T) {
	p := loadEngine(t)
	scope := p.types.Scope()
	for _, name := range scope.Names() {
		structure, ok := scope.Lookup(name).Type().Underlying().(*types.Struct)
		if _, isType := scope.Lookup(name).(*types.TypeName); !isType || !ok {
			continue
		}
		for field := range structure.Fields() {
			embedded := field.Type()
			if pointer, ok := embedded.(*types.Pointer); ok {
				embedded = pointer.Elem()
			}
			if named, ok := embedded.(*types.Named); ok && field.Embedded() && named.Obj().Pkg() == p.types {
				t.Errorf("%s embeds %s: give it the dependencies that it uses, by name", name, named.Obj().Name())
			}
		}
	}
}
