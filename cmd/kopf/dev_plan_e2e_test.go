package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/plan/box"
)

// savedOperator runs kopf dev with flags in a terminal, for an operator with a handler that sets durations to 1h when it starts, and for
// an object of its resource. The function save saves other code of the handler.
func savedOperator(t *testing.T, flags ...string) (term *terminal, save func(code string)) {
	t.Helper()
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
		"func extend(_ context.Context, c *kopf.Change[kopf.Object]) error {\n\tBODY\n\treturn nil\n}\n"
	file := filepath.Join(dir, "saved.go")
	save = func(body string) {
		t.Helper()
		writeFile(t, file+".new", strings.Replace(code, "BODY", body, 1), 0o600)
		if err := os.Rename(file+".new", file); err != nil { // in one step, so that it is one save
			t.Fatal(err)
		}
	}
	save(extendTo("1h"))
	object := filepath.Join(t.TempDir(), "object.yaml")
	writeFile(t, object, "apiVersion: kopf.dev/v1\nkind: KopfExample\nmetadata: {name: one}\nspec: {duration: 1m}\n", 0o600)
	args := []string{"dev", "./" + filepath.Base(dir), "--apply", "../../../examples/crd.yaml", "--apply", object, "--ephemeral", "-n", "default"}
	term = newTerminal(t, terminalOptions{dir: "testdata"}, append(args, flags...)...)
	term.shows("✓ settled", "1 at rest")
	return term, save
}

// extendTo returns the body of a handler that sets the duration.
func extendTo(duration string) string {
	return fmt.Sprintf("c.Patch.Set(\"spec.duration\", %q)", duration)
}

// TestWorkbench_PlansSavedCode saves other code, and sees its plan and its marks before the code runs.
func TestWorkbench_PlansSavedCode(t *testing.T) {
	t.Parallel()
	term, save := savedOperator(t, "--no-reload")
	save(extendTo("2h"))
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

// TestWorkbench_PlansReloads saves code that would change an object, broken code, and code that changes nothing.
func TestWorkbench_PlansReloads(t *testing.T) {
	t.Parallel()
	term, save := savedOperator(t, "--plan-reloads")
	save(extendTo("2h"))
	term.shows("! the saved build would change 1 object · b runs it", "◌ waits", "Δ one")
	term.types("y")
	term.shows("duration: 1m")

	save("nonsense()")
	term.shows("undefined: nonsense")
	term.hides("Δ")
	save(extendTo("3h"))
	term.shows("! the saved build would change 1 object · b runs it")
	term.types("i", "Enter")
	term.shows(`→ "3h"`, "this code does not run yet: b")
	term.types("b", "1", "y")
	term.shows("duration: 3h")

	term.types("8")
	term.shows("handling after")
	save("// It is long.\n\t" + extendTo("3h"))
	term.wait(func(screen string) bool { return strings.Count(screen, "handling after") == 2 }, "the code without an effect does not run")
	term.hides("◌ waits")
}
