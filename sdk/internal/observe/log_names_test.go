package observe

import (
	"go/ast"
	"go/parser"
	"go/token"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// eventNames returns the values of the constants in log_names.go.
func eventNames(t *testing.T) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "log_names.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || spec.Type == nil {
			return true
		}
		name, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		if constant := strings.ToLower(strings.ReplaceAll(name, ".", "")); "log"+constant != strings.ToLower(spec.Names[0].Name) {
			t.Errorf("%s is called %s", name, spec.Names[0].Name)
		}
		names = append(names, name)
		return true
	})
	return names
}

func TestLogNames_AllDocumented(t *testing.T) {
	doc, err := os.ReadFile("../../../docs/logging.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(doc), "## Events")
	section, _, _ = strings.Cut(section, "\n## ")
	var documented []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z]+\\.[a-z]+)` \\| .+ \\|$").FindAllStringSubmatch(section, -1) {
		documented = append(documented, row[1])
	}
	names := eventNames(t)
	if len(names) == 0 || !slices.Equal(names, documented) {
		t.Errorf("the constants are\n%q, and docs/logging.md has\n%q", names, documented)
	}
	if unique := slices.Compact(slices.Sorted(slices.Values(names))); len(unique) != len(names) {
		t.Error("a name is there twice")
	}
}

func TestEventName_InJSONOnly(t *testing.T) {
	write := func(l *slog.Logger) {
		l.Info("There are credentials.", EventKey, LogLoginFinished, "by", "token")
		l.Info("A handler wrote this.", EventKey, "party")
	}
	if got, want := logged(LogOptions{Format: LogPlain}, write), "There are credentials. by=token\nA handler wrote this. event=party\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	const want = `{"by":"token","event":"login.finished","message":"There are credentials.","severity":"info","timestamp":"2019-11-04T17:49:25.365000"}
{"event":"party","message":"A handler wrote this.","severity":"info","timestamp":"2019-11-04T17:49:25.365000"}
`
	if got := logged(LogOptions{Format: LogJSON}, write); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
