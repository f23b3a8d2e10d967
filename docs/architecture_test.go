package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	hop        = regexp.MustCompile("(?m)^\\| \\d+ \\| `([\\w/]+)` \\| `([\\w.]+)` \\|")
	engineName = regexp.MustCompile("`(\\w+\\.\\w+)`")
	packageRow = regexp.MustCompile("(?m)^\\| `([\\w./]+)` \\| ")
	place      = regexp.MustCompile("`([\\w/-]+/[\\w/.-]+)`")
)

func TestArchitecture_HopsAreFunctions(t *testing.T) {
	way := section(t, read(t, "architecture.md"), "The way of one event")
	hops := hop.FindAllStringSubmatch(way, -1)
	if len(hops) == 0 || len(hops) > 12 {
		t.Errorf("there are %d hops", len(hops))
	}
	declared := map[string][]string{}
	functions := func(pkg string) []string {
		if declared[pkg] == nil {
			declared[pkg] = declaredFunctions(t, filepath.Join("../sdk/internal", pkg))
		}
		return declared[pkg]
	}
	for _, m := range hops {
		if !slices.Contains(functions(m[1]), m[2]) {
			t.Errorf("package %s has no function %s", m[1], m[2])
		}
	}
	named := slices.Concat(functions("engine"), functions("observe"))
	for _, pkg := range []string{"call", "cycle", "memory", "outbox", "plan", "reviews", "serving"} {
		named = append(named, functions("engine/"+pkg)...)
	}
	for _, m := range engineName.FindAllStringSubmatch(hop.ReplaceAllString(way, ""), -1) {
		if name := strings.TrimPrefix(m[1], "observe."); !slices.Contains(named, name) && name != "Sink" {
			t.Errorf("package engine has no function %s", name)
		}
	}
}

func TestArchitecture_TablesNameAllPackages(t *testing.T) {
	page := read(t, "architecture.md")
	packages := section(t, page, "The packages")
	top, rest, _ := strings.Cut(packages, "### The engine")
	engine, workbench, _ := strings.Cut(rest, "### The workbench")
	compareFolders(t, "..", top, "docs", "bin", "dist")
	compareFolders(t, "../sdk", top, "testdata")
	compareFolders(t, "../sdk/internal", engine)
	compareFolders(t, "../tui", workbench, "testdata")
}

func TestArchitecture_PlacesExist(t *testing.T) {
	table := section(t, read(t, "architecture.md"), "Where to put a new thing")
	for _, m := range place.FindAllStringSubmatch(table, -1) {
		if _, err := os.Stat(filepath.Join("..", m[1])); err != nil {
			t.Error(err)
		}
	}
}

// compareFolders fails the test unless the rows of the tables are folders, and each folder has a row. A row for a folder
// covers the folders in it.
func compareFolders(t *testing.T, folder, tables string, without ...string) {
	t.Helper()
	var rows []string
	for _, m := range packageRow.FindAllStringSubmatch(tables, -1) {
		rows = append(rows, m[1])
	}
	prefix := strings.TrimPrefix(strings.TrimPrefix(folder, ".."), "/") // rows are relative to the repository, those of the engine to their folder
	if folder == "../sdk/internal" {
		prefix = ""
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		name := entry.Name()
		row := strings.TrimPrefix(prefix+"/"+name, "/")
		covered := slices.ContainsFunc(rows, func(r string) bool { return r == row || strings.HasPrefix(r, row+"/") })
		if entry.IsDir() && !strings.HasPrefix(name, ".") && !slices.Contains(without, name) && !covered {
			t.Errorf("no row for the folder %s", row)
		}
	}
	for _, row := range rows {
		if folder == ".." || prefix == "" {
			if _, err := os.Stat(filepath.Join(folder, row)); err != nil {
				t.Errorf("%s is no folder: %v", row, err)
			}
		}
	}
}

// declaredFunctions returns the functions of a package, with methods as Type.method.
func declaredFunctions(t *testing.T, folder string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("find the files of %s: %v", folder, err)
	}
	var names []string
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			name := f.Name.Name
			if f.Recv != nil {
				receiver := f.Recv.List[0].Type
				if pointer, ok := receiver.(*ast.StarExpr); ok {
					receiver = pointer.X
				}
				if ident, ok := receiver.(*ast.Ident); ok {
					name = ident.Name + "." + name
				}
			}
			names = append(names, name)
		}
	}
	return names
}

// section returns the part of a page below a heading of the second level.
func section(t *testing.T, page, title string) string {
	t.Helper()
	_, rest, found := strings.Cut(page, "\n## "+title+"\n")
	if !found {
		t.Fatalf("no heading %s", title)
	}
	rest, _, _ = strings.Cut(rest, "\n## ")
	return rest
}
