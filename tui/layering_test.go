package tui

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	repository = "github.com/kopf-dev/kopf/"
	workbench  = repository + "tui"
	words      = repository + "explain"
)

// layers maps the folders of the workbench to the packages that they may import, besides
// the standard library and packages below a permitted path. A folder of pages may import
// what "pages" may, and no other page. The app, which may import all, is not here.
var layers = map[string][]string{
	"render": {words, "charm.land/lipgloss/v2", "github.com/charmbracelet"},
	"parts":  {words, workbench + "/render", repository + "runner", repository + "sdk/inspect", "charm.land"},
	"pages":  {words, workbench + "/render", workbench + "/parts", repository + "runner", repository + "sdk/inspect", "charm.land"},
	"stream": {words, workbench + "/render", repository + "runner", repository + "sdk/inspect", repository + "sdk/printable", "github.com/charmbracelet/colorprofile"},
}

func TestLayering_ImportsGoOneWay(t *testing.T) {
	seen := map[string]bool{}
	err := filepath.WalkDir(".", func(file string, entry fs.DirEntry, err error) error {
		folder, _, nested := strings.Cut(filepath.ToSlash(file), "/")
		if err != nil || entry.IsDir() || !nested || path.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") {
			return err
		}
		seen[folder] = true
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range parsed.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			if !mayImport(layers[folder], imported) {
				t.Errorf("%s imports %s", file, imported)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for folder := range layers {
		if !seen[folder] {
			t.Errorf("there is no folder %s", folder)
		}
	}
}

func mayImport(permitted []string, imported string) bool {
	if root, _, _ := strings.Cut(imported, "/"); !strings.Contains(root, ".") {
		return true // the standard library
	}
	return slices.ContainsFunc(permitted, func(p string) bool { return imported == p || strings.HasPrefix(imported, p+"/") })
}
