package observe

import (
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// source is a file that is not a test.
type source struct {
	name string
	file *ast.File
}

// sourcesOf parses the Go files in directories.
func sourcesOf(t *testing.T, files *token.FileSet, directories ...string) []source {
	t.Helper()
	var all []source
	for _, directory := range directories {
		names, err := filepath.Glob(filepath.Join(directory, "*.go"))
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %v, %v", directory, names, err)
		}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(files, name, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, source{name, file})
		}
	}
	return all
}

func textOf(t *testing.T, files *token.FileSet, node ast.Node) string {
	t.Helper()
	var text strings.Builder
	if err := printer.Fprint(&text, files, node); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

var (
	logMethods = []string{"Debug", "Info", "Warn", "Error", "DebugContext", "InfoContext", "WarnContext", "ErrorContext", "LogAttrs"}
	aLogger    = regexp.MustCompile(`(?i)(logger|\.clients|\.streams)(\(\))?(\.With\(.*\))?$`)
	anEvent    = regexp.MustCompile(`\bEventKey\b|\battrs\.\.\.`)
)

// engineFolders returns the folders of package engine and of the packages below it.
func engineFolders(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir("../engine")
	if err != nil {
		t.Fatal(err)
	}
	folders := []string{"../engine"}
	for _, entry := range entries {
		if entry.IsDir() {
			folders = append(folders, filepath.Join("../engine", entry.Name()))
		}
	}
	return folders
}

func TestLogLines_AllNameTheirEvents(t *testing.T) {
	files := token.NewFileSet()
	lines := 0
	// The loggers of kube and watch have the attribute: these packages are below this one.
	for _, source := range sourcesOf(t, files, append(engineFolders(t), ".", "../daemons", "../leases", "../queue", "../../kopf", "../../webhook")...) {
		ast.Inspect(source.file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			method, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || !slices.Contains(logMethods, method.Sel.Name) || !aLogger.MatchString(textOf(t, files, method.X)) {
				return true
			}
			lines++
			if text := textOf(t, files, call); !anEvent.MatchString(text) {
				t.Errorf("%s: no event in %s", files.Position(call.Pos()), text)
			}
			return true
		})
	}
	if lines < 50 {
		t.Errorf("only %d lines were found", lines)
	}
}

func TestLogNames_AllUsed(t *testing.T) {
	files := token.NewFileSet()
	used := map[string]bool{}
	for _, source := range sourcesOf(t, files, append(engineFolders(t), ".", "../daemons", "../leases", "../../kopf", "../../webhook")...) {
		if source.name == "log_names.go" {
			continue
		}
		ast.Inspect(source.file, func(n ast.Node) bool {
			if name, ok := n.(*ast.Ident); ok {
				used[name.Name] = true
			}
			return true
		})
	}
	constants, err := os.ReadFile("log_names.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range regexp.MustCompile(`(?m)^\t(Log\w+) +LogName`).FindAllStringSubmatch(string(constants), -1) {
		if !used[name[1]] {
			t.Errorf("%s is not used", name[1])
		}
	}
}
