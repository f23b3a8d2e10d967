package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

// namedSetting matches the path of a setting, such as Settings.Scaling.LeaseName, in prose, in code and in messages.
var namedSetting = regexp.MustCompile(`(?i)\bsettings\.([A-Z]\w*)(?:\.([A-Z]\w*))?`)

// TestSettings_MessagesAndPagesNameExistingOnes checks the strings and comments of the code, and the pages.
func TestSettings_MessagesAndPagesNameExistingOnes(t *testing.T) {
	checked := 0
	for where, text := range prose(t) {
		for _, m := range namedSetting.FindAllStringSubmatch(text, -1) {
			group, ok := reflect.TypeFor[kopf.Settings]().FieldByName(m[1])
			if !ok {
				continue // settings of something else
			}
			checked++
			if _, ok := group.Type.FieldByName(m[2]); m[2] != "" && !ok {
				t.Errorf("%s names %s, but %s has no setting %s", where, m[0], group.Type.Name(), m[2])
			}
		}
	}
	if checked < 50 {
		t.Errorf("found only %d names of settings", checked)
	}
}

// prose returns the pages, and the comments and strings of the Go files outside tests that mention settings, by file.
func prose(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, page := range linkedPages(t) {
		texts[page] = read(t, page)
	}
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "testdata" || path != ".." && strings.HasPrefix(entry.Name(), ".")):
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		code := read(t, path)
		if !strings.Contains(code, "ettings.") { // parsing takes most of the time of the test
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, code, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		var text strings.Builder
		for _, comment := range file.Comments {
			text.WriteString(comment.Text() + "\n")
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				text.WriteString(lit.Value + "\n")
			}
			return true
		})
		texts[path] = text.String()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts
}
