package runner

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBuildFailure_ListsCompilerErrorsWithPositions(t *testing.T) {
	dir := tree(t, map[string]string{
		"a/a.go":         handlers("a", "undefinedOne()\n\tvar n int = \"text\""),
		"syntax/s.go":    handlers("syntax", "if {"),
		"import/i.go":    "package i\n\nimport (\n\t\"example.com/nowhere\"\n\t\"github.com/kopf-dev/kopf/sdk/kopf\"\n)\n\nfunc Register(*kopf.Registry) { nowhere.Go() }\n",
		"value/value.go": "package value\n\nimport k \"github.com/kopf-dev/kopf/sdk/kopf\"\n\ntype R k.Registry\n\nfunc Register(r *R) {}\n",
	})
	for name, test := range map[string]struct {
		pattern string
		want    []string // the beginnings of the lines
	}{
		"types":              {"./a", []string{"a/a.go:6:2: undefined: undefinedOne", "a/a.go:7:6: declared and not used: n", "a/a.go:7:14: cannot use \"text\""}},
		"syntax":             {"./syntax", []string{"syntax/s.go:6:5: syntax error: missing condition in if statement"}},
		"a missing module":   {"./import", []string{"import/i.go:4:2: "}},
		"not quite Register": {"./value", []string{"Register must be func(*kopf.Registry), with kopf from \"" + sdkPackage + "\": cannot use r"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := build(t, dir, test.pattern)
			failure, ok := errors.AsType[*BuildFailure](err)
			if !ok {
				t.Fatal(err)
			}
			lines := strings.Split(err.Error(), "\n")
			if len(failure.Errors) != len(test.want) {
				t.Fatalf("got %s", err)
			}
			for i, want := range test.want {
				if got := failure.Errors[i].String(); !strings.HasPrefix(got, want) {
					t.Errorf("line %d is %q, want %q", i, got, want)
				}
			}
			for _, line := range lines {
				if strings.HasPrefix(line, "#") || strings.Contains(line, mainDir) {
					t.Errorf("%q is not for the user", line)
				}
			}
		})
	}
}

func TestBuildFailure_MissingGoSumEntriesBecomeOneError(t *testing.T) {
	text := `# example.com/op/a
a/a.go:6:2: undefined: create
/sdk/x.go:8:2: missing go.sum entry for module providing package k8s.io/client-go/rest (imported by github.com/kopf-dev/kopf/sdk/kopf); to add:
	go get github.com/kopf-dev/kopf/sdk/kopf@v0.1.0
/sdk/y.go:4:2: missing go.sum entry for module providing package sigs.k8s.io/json (imported by github.com/kopf-dev/kopf/sdk/kopf); to add:
	go get github.com/kopf-dev/kopf/sdk/kopf@v0.1.0`
	failure := &BuildFailure{Errors: shortenMissingSums(parseBuildErrors(text))}
	want := "a/a.go:6:2: undefined: create\ngo.sum lacks entries for modules that the packages need; add them with: go mod tidy"
	if got := failure.Error(); got != want {
		t.Errorf("got %s", got)
	}
}

func TestLoad_BrokenGoModReportsLine(t *testing.T) {
	dir := tree(t, map[string]string{"go.mod": "module example.com/op\n\nnonsense here\n", "a/a.go": handlers("a", "")})
	_, err := Load(t.Context(), dir, []string{"./a"})
	failure, ok := errors.AsType[*BuildFailure](err)
	if !ok || !strings.Contains(err.Error(), "go.mod:3: unknown directive: nonsense") {
		t.Fatalf("%v, %+v", err, failure)
	}
}

func TestAddSource_AddsSurroundingLines(t *testing.T) {
	dir := tree(t, map[string]string{"a/a.go": "1\n2\n3\n4\n5\n6"})
	list := []BuildError{{File: "a/a.go", Line: 1}, {File: "a/a.go", Line: 4}, {File: "a/a.go", Line: 6}, {File: "a/a.go", Line: 99}, {Message: "without"}}
	addSource(list, dir)
	var got [][]string
	for _, e := range list {
		got = append(got, e.Source)
	}
	want := [][]string{{"1", "2", "3"}, {"2", "3", "4", "5", "6"}, {"4", "5", "6"}, nil, nil}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if list[0].SourceAt != 1 || list[1].SourceAt != 2 {
		t.Errorf("the sources begin at %d and %d", list[0].SourceAt, list[1].SourceAt)
	}
}

func TestBuildError_StringHasKnownPartOfPosition(t *testing.T) {
	for want, e := range map[string]BuildError{
		"m":            {Message: "m"},
		"go.mod: m":    {File: "go.mod", Message: "m"},
		"go.mod:3: m":  {File: "go.mod", Line: 3, Message: "m"},
		"a.go:3:14: m": {File: "a.go", Line: 3, Column: 14, Message: "m"},
	} {
		if got := e.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestBuildFailure_ReportsSyntaxErrorBeforeRegister(t *testing.T) {
	dir := tree(t, map[string]string{
		"a/a.go": "package a\n\nimport \"github.com/kopf-dev/kopf/sdk/kopf\"\n\nvar broken = \"\n\nfunc Register(r *kopf.Registry) {}\n",
	})
	_, err := build(t, dir, "./a")
	failure, ok := errors.AsType[*BuildFailure](err)
	if !ok {
		t.Fatal(err)
	}
	if len(failure.Errors) == 0 || failure.Errors[0].Line != 5 {
		t.Errorf("got %s", err)
	}
}
