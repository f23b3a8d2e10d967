package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestFlags_MessagesNameExistingOnes checks the flags in the strings of all code that talks to the users of kopf and of
// operators. Packages that start other programs, with flags of these, are left out.
func TestFlags_MessagesNameExistingOnes(t *testing.T) {
	known := map[string]bool{"wait": true, "goto": true} // flags of editors
	// Flags of git.
	for _, name := range []string{"show-toplevel", "show-prefix", "verify", "end-of-options", "no-sparse-checkout", "prefix"} {
		known[name] = true
	}
	var add func(*cobra.Command)
	add = func(cmd *cobra.Command) {
		cmd.InitDefaultHelpFlag()
		note := func(f *pflag.Flag) { known[f.Name] = true }
		cmd.Flags().VisitAll(note)
		cmd.PersistentFlags().VisitAll(note)
		for _, sub := range cmd.Commands() {
			add(sub)
		}
	}
	add(newRootCommand())
	for _, pattern := range []string{"../../sdk/kopf/main*.go", "../../sdk/uninstall/*.go"} {
		for _, name := range definedFlags(t, pattern) {
			known[name] = true
		}
	}
	flag := regexp.MustCompile(`(?:^|[\s"'(=])--([a-z][a-z-]*[a-z])`)
	checked := 0
	for _, folder := range []string{".", "../../sdk/kopf", "../../sdk/internal/engine", "../../sdk/kopftest", "../../runner", "../../tui", "../../deploy", "../../listing", "../../scaffold"} {
		for where, text := range stringsBelow(t, folder) {
			for _, m := range flag.FindAllStringSubmatch(text, -1) {
				checked++
				if !known[m[1]] {
					t.Errorf("%s names the flag --%s, which no command has", where, m[1])
				}
			}
		}
	}
	if checked < 100 {
		t.Errorf("found only %d names of flags", checked)
	}
}

// definedFlags returns the flags that source files define by the methods of a flag set.
func definedFlags(t *testing.T, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("find %s: %v", pattern, err)
	}
	var names []string
	for _, path := range paths {
		source, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`Var(?:P|PF)?\([^,\n]+, "([a-z-]+)"`).FindAllSubmatch(source, -1) {
			names = append(names, string(m[1]))
		}
	}
	return names
}

// stringsBelow returns the strings of all Go files below a folder outside tests, by file.
func stringsBelow(t *testing.T, folder string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && entry.Name() == "testdata" {
			return filepath.SkipDir
		}
		if entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				all[path] += lit.Value + "\n"
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
