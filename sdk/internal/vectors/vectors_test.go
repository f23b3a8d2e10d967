package vectors

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestSummary_CountsWhatIsSkippedApart(t *testing.T) {
	got := summary("TestX", "x.json", 3, 1, 4, 2)
	if want := "vectors: x.json 3 of 6 agree, 1 differ deliberately, 4 skipped by TestX, 2 FAILED"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestRun_SkipsWhatIsNotThere(t *testing.T) {
	t.Setenv("VECTORS", t.TempDir())
	for file, text := range map[string]string{"empty.json": `{"vectors": []}`, "without.json": `{}`, "absent.json": ""} {
		if text != "" {
			if err := os.WriteFile(filepath.Join(Dir(), file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		t.Run(file, func(t *testing.T) {
			defer func() {
				if !t.Skipped() {
					t.Error("not skipped")
				}
			}()
			Run(t, file, func(*testing.T, *struct{}) error { return errors.New("is not called") })
		})
	}
}

// TestScript_ReportsEveryFileOfTheFolder runs "make vectors" with a few files of its own.
func TestScript_ReportsEveryFileOfTheFolder(t *testing.T) {
	dir := t.TempDir()
	for file, text := range map[string]string{
		"admission.json":   `{"count": 2, "vectors": [{}, {}]}`,
		"diff.json":        `{"vectors": []}`,
		"dicts.json":       `{"vectors": [{"id": "same", "op": "resolve", "dict": {"a": 1}, "field": ["a"], "result": 1}]}`,
		"_resources.json":  `[]`,
		"finalizers.json":  `{"vectors": [{"id": "wrong", "body": {}, "is_blocked": true}]}`,
		"annotations.json": `{}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	script := exec.CommandContext(t.Context(), "../../../hack/vectors", "./internal/object", "./internal/state")
	script.Env = append(os.Environ(), "VECTORS="+dir)
	out, err := script.CombinedOutput()
	if err == nil {
		t.Error("the script succeeds, although a vector fails")
	}
	for _, want := range []string{
		"vectors: dicts.json 1 of 1 agree\n",
		"vectors: diff.json skipped: it has no vectors\n",
		"vectors: finalizers.json 0 of 1 agree, 1 FAILED\n",
		"vectors: admission.json skipped: no test runs it\n",
		"vectors: annotations.json skipped: no test runs it\n",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
}
