package kopftest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

const updateVar = "KOPFTEST_UPDATE"

// Golden tests a whole operator in one line: it applies the files, runs the operator, waits until the served objects
// are handled, and compares them with a golden file, as [Operator.Golden] does.
//
//	func TestClaims_MatchGolden(t *testing.T) { kopftest.Golden(t, Register, "testdata/golden.yaml", "crd.yaml", "obj.yaml") }
func Golden(t testing.TB, register func(*kopf.Registry), golden string, manifests ...string) {
	t.Helper()
	cluster := New(t)
	applied := cluster.ApplyAllFiles(manifests...)
	operator := cluster.Run(register)
	operator.look()
	served := slices.DeleteFunc(applied, func(o *Object) bool {
		return !slices.Contains(operator.served, o.resource.Key())
	})
	if len(served) == 0 {
		t.Fatalf("kopftest: no object in %s is of a resource that the operator serves", strings.Join(manifests, ", "))
	}
	operator.Golden(golden, served...)
}

// Golden waits until objects are handled, and compares them with the golden file: YAML, one document for each object.
// Values that differ between runs are replaced (times, UIDs, the namespace of the test) or omitted (resourceVersion,
// generation, managedFields). The data of Secrets are redacted, and so are the fields in Settings.Redaction of the
// operators. A test run with KOPFTEST_UPDATE=1 writes the file.
func (op *Operator) Golden(path string, objects ...*Object) {
	c := op.cluster
	c.t.Helper()
	trees := make([]map[string]any, 0, len(objects))
	for _, o := range objects {
		op.WaitHandled(o)
		var tree map[string]any
		if err := o.Get().Decode("", &tree); err != nil {
			c.t.Fatalf("kopftest: %s: %v", o, err)
		}
		trees = append(trees, c.withoutSecrets(tree))
	}
	got, err := settledText(trees, c.Namespace)
	if err != nil {
		c.t.Fatalf("kopftest: write the objects as YAML: %v", err)
	}
	if os.Getenv(updateVar) != "" {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(got), 0o666)); err != nil {
			c.t.Fatalf("kopftest: update the golden file: %v", err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		c.t.Fatalf("kopftest: there is no golden file %s: run the test with %s=1 to write it, and review it:\n%s", path, updateVar, got)
	}
	if err != nil {
		c.t.Fatalf("kopftest: read the golden file: %v", err)
	}
	if got != string(want) {
		c.t.Fatalf("kopftest: the objects differ from %s (- golden, + now); if they are right, run the test with %s=1:\n%s",
			path, updateVar, lineDiff(string(want), got))
	}
}

var (
	uidPattern  = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	timePattern = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?`)
)

// settledText returns objects as YAML, without the values that differ between runs.
func settledText(trees []map[string]any, namespace string) (string, error) {
	for _, tree := range trees {
		metadata, _ := tree["metadata"].(map[string]any)
		for _, key := range []string{"creationTimestamp", "generation", "managedFields", "resourceVersion", "uid"} {
			delete(metadata, key)
		}
	}
	raw, err := json.Marshal(trees)
	if err != nil {
		return "", err
	}
	text := strings.ReplaceAll(string(raw), namespace, "NAMESPACE")
	text = timePattern.ReplaceAllString(text, "TIME")
	uids := map[string]string{}
	text = uidPattern.ReplaceAllStringFunc(text, func(uid string) string {
		if uids[uid] == "" {
			uids[uid] = fmt.Sprintf("UID-%d", len(uids)+1)
		}
		return uids[uid]
	})
	var documents []json.RawMessage
	if err := json.Unmarshal([]byte(text), &documents); err != nil {
		return "", err
	}
	var texts []string
	for _, document := range documents {
		text, err := yaml.JSONToYAML(document)
		if err != nil {
			return "", err
		}
		texts = append(texts, string(text))
	}
	return strings.Join(texts, "---\n"), nil
}

// lineDiff returns the lines of two texts. Lines that only one text has start with a sign.
func lineDiff(a, b string) string {
	x, y := strings.SplitAfter(a, "\n"), strings.SplitAfter(b, "\n")
	// common[i][j] is the length of the longest common subsequence of lines of x[i:] and y[j:].
	common := make([][]int, len(x)+1)
	for i := range common {
		common[i] = make([]int, len(y)+1)
	}
	for i := len(x) - 1; i >= 0; i-- {
		for j := len(y) - 1; j >= 0; j-- {
			if x[i] == y[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	var out strings.Builder
	for i, j := 0, 0; i < len(x) || j < len(y); {
		switch {
		case i < len(x) && j < len(y) && x[i] == y[j]:
			out.WriteString("  " + x[i])
			i, j = i+1, j+1
		case j == len(y) || i < len(x) && common[i+1][j] >= common[i][j+1]:
			out.WriteString("- " + x[i])
			i++
		default:
			out.WriteString("+ " + y[j])
			j++
		}
	}
	return strings.TrimRight(out.String(), " \n")
}
