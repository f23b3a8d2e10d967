package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/plan/box"
)

// TestWorkbench_PlansSavedCode saves other code, and sees its plan and its marks before the code runs.
func TestWorkbench_PlansSavedCode(t *testing.T) {
	t.Parallel()
	if err := box.Check(shortDir(t)); err != nil {
		if _, ok := errors.AsType[*box.UnavailableError](err); ok {
			t.Skipf("allow user namespaces to run this test: %v", err)
		}
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("testdata", "saved-") // in the module, so that the code compiles
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	code := "package saved\n\nimport (\n\t\"context\"\n\n\t\"github.com/kopf-dev/kopf/sdk/kopf\"\n)\n\n" +
		"// Register registers the handler.\nfunc Register(r *kopf.Registry) {\n\tkopf.OnResume(r, kopf.Resource(\"kopf.dev/v1\", \"kopfexamples\"), extend)\n}\n\n" +
		"func extend(_ context.Context, c *kopf.Change[kopf.Object]) error {\n\tc.Patch.Set(\"spec.duration\", \"1h\")\n\treturn nil\n}\n"
	file := filepath.Join(dir, "saved.go")
	writeFile(t, file, code, 0o600)
	object := filepath.Join(t.TempDir(), "object.yaml")
	writeFile(t, object, "apiVersion: kopf.dev/v1\nkind: KopfExample\nmetadata: {name: one}\nspec: {duration: 1m}\n", 0o600)
	term := newTerminal(t, terminalOptions{dir: "testdata"}, "dev", "./"+filepath.Base(dir), "--apply", "../../../examples/crd.yaml", "--apply", object,
		"--ephemeral", "-n", "default", "--no-reload")
	term.shows("✓ settled", "1 at rest")

	writeFile(t, file+".new", strings.Replace(code, "1h", "2h", 1), 0o600)
	if err := os.Rename(file+".new", file); err != nil { // in one step, so that it is one save
		t.Fatal(err)
	}
	term.types("i")
	term.shows("n makes a plan", "Saved code does not run yet: ", "saved.go;")
	term.types("n")
	term.shows("1 change", "this code does not run yet: b")
	term.types("Enter")
	term.shows(`→ "2h"`, "objects (1): default/one", "not tried: ")
	term.types("1")
	term.shows("Δ one", "Δ the saved code would change it")
	term.types("y")
	term.shows("duration: 1m") // the plan has changed nothing

	term.types("Escape", "b")
	term.hides("Δ")
	term.types("y")
	term.shows("duration: 2h")
}
