// Package vectors runs recorded inputs and outputs of Kopf for Python as tests.
//
// The recordings are in testdata/vectors of the module. The environment variable VECTORS
// replaces that folder by another one of the same format.
package vectors

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	sigsjson "sigs.k8s.io/json"
)

// maxReported limits the printed disagreements of a file.
const maxReported = 20

// difference is the reason of a deliberate disagreement.
type difference string

func (d difference) Error() string { return string(d) }

// Differs returns the error that marks a disagreement as deliberate. Add the reason to the
// table of docs/decisions/vectors.md too.
func Differs(reason string) error { return difference(reason) }

// skipped marks vectors that the tests of another package check, or no tests.
type skipped struct{}

func (skipped) Error() string { return "not checked" }

// Skip returns the error that marks a recording as not checked by this test.
func Skip() error { return skipped{} }

// Dir returns the folder of the recordings.
func Dir() string {
	if dir := os.Getenv("VECTORS"); dir != "" {
		return dir
	}
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "..", "testdata", "vectors")
}

// Run decodes each recording of a file into a V and calls check. A nil error is an agreement,
// [Differs] is a deliberate disagreement, [Skip] leaves the recording out, and any other error fails
// the test. Run skips files that are absent from the folder in VECTORS, or have no vectors there.
func Run[V any](t *testing.T, file string, check func(t *testing.T, v *V) error) {
	t.Helper()
	path := filepath.Join(Dir(), file)
	data, err := os.ReadFile(path)
	others := os.Getenv("VECTORS") != ""
	if errors.Is(err, os.ErrNotExist) && others {
		t.Skipf("vectors: %s skipped: it is not in the folder of VECTORS", file)
	}
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Vectors []json.RawMessage `json:"vectors"`
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if len(doc.Vectors) == 0 && others {
		t.Skipf("vectors: %s skipped: it has no vectors", file)
	}
	if len(doc.Vectors) == 0 {
		t.Fatalf("%s has no vectors", path)
	}
	agree, differ, skip, failed := 0, 0, 0, 0
	for i, raw := range doc.Vectors {
		var head struct {
			ID string `json:"id"`
		}
		_ = json.Unmarshal(raw, &head) // the id is optional
		if head.ID == "" {
			head.ID = fmt.Sprintf("#%d", i)
		}
		v := new(V)
		if err := sigsjson.UnmarshalCaseSensitivePreserveInts(raw, v); err != nil {
			t.Fatalf("%s %s: %v", file, head.ID, err)
		}
		err := check(t, v)
		var meant difference
		switch {
		case err == nil:
			agree++
		case errors.As(err, &meant):
			differ++
		case errors.Is(err, Skip()):
			skip++
		default:
			failed++
			if failed <= maxReported {
				t.Errorf("%s %s: %v\n\t%s", file, head.ID, err, clip(raw, 600))
			}
		}
	}
	t.Log(summary(t.Name(), file, agree, differ, skip, failed))
}

// summary is a line of "make vectors". It names the test if the file has recordings for several.
func summary(test, file string, agree, differ, skip, failed int) string {
	line := fmt.Sprintf("vectors: %s %d of %d agree", file, agree, agree+differ+failed)
	if differ > 0 {
		line += fmt.Sprintf(", %d differ deliberately", differ)
	}
	if skip > 0 {
		line += fmt.Sprintf(", %d skipped by %s", skip, test)
	}
	if failed > 0 {
		line += fmt.Sprintf(", %d FAILED", failed)
	}
	return line
}

func clip(b []byte, n int) string {
	if len(b) <= n {
		return string(b)
	}
	return string(b[:n]) + "…"
}
