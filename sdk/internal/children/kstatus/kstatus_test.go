package kstatus

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/yaml"

	"github.com/kopf-dev/kopf/sdk/internal/children"
	"github.com/kopf-dev/kopf/sdk/internal/object"
)

type tree = map[string]any

// verdicts are the states with the same meaning.
var verdicts = map[status.Status]children.State{
	status.CurrentStatus: children.Ready, status.InProgressStatus: children.Progressing, status.FailedStatus: children.Failed,
	status.TerminatingStatus: children.Terminating,
}

func TestAssess_AgreesWithEachCaseOfTheLibrary(t *testing.T) {
	cases := suite(t)
	if len(cases) < 50 {
		t.Fatalf("found %d cases; the test reads the YAML texts of the library's own tests", len(cases))
	}
	for name, o := range cases {
		if difference := compare(t, o); difference != "" {
			t.Errorf("%s: %s", name, difference)
		}
	}
}

// TestAssess_AgreesWithTheLibraryOnVariants changes the numbers, conditions and other values of the cases at random.
func TestAssess_AgreesWithTheLibraryOnVariants(t *testing.T) {
	cases := suite(t)
	names := slices.Sorted(maps.Keys(cases))
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	for range 50_000 {
		name := names[r.IntN(len(names))]
		o := unstructured.Unstructured{Object: cases[name]}
		variant := o.DeepCopy().Object
		for range 1 + r.IntN(3) {
			vary(r, variant)
		}
		if difference := compare(t, variant); difference != "" {
			text, err := yaml.Marshal(variant)
			if err != nil {
				t.Fatal(err)
			}
			t.Fatalf("a variant of %s, seed %d: %s\n%s", name, seed, difference, text)
		}
	}
}

// compare returns the difference between the two verdicts; empty if they agree, or differ as intended.
func compare(t *testing.T, o tree) string {
	t.Helper()
	want, err := status.Compute(&unstructured.Unstructured{Object: o})
	if err != nil {
		return "" // a status that is not of the declared type, which an API server does not accept
	}
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := object.Parse(text, object.ParseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got := children.Assess(parsed, hasStatus(parsed.Kind))
	if got.State == verdicts[want.Status] || intended(parsed, o, want.Status, got.State) {
		return ""
	}
	return fmt.Sprintf("%s: %s; the library: %s: %s", got.State, got.Message, want.Status, want.Message)
}

func hasStatus(kind string) bool { return kind != "ConfigMap" && kind != "Secret" }

// intended reports whether the verdicts may differ, by the table "Readiness" of docs/decisions/children.md.
func intended(o *object.Object, content tree, theirs status.Status, ours children.State) bool {
	conditions := conditionsOf(content)
	_, seen, _ := unstructured.NestedInt64(content, "status", "observedGeneration")
	switch {
	case o.Kind == "Job" && conditions["Complete"] == "True" && conditions["Failed"] == "True": // no Job has both
		return true
	case theirs == status.FailedStatus && ours == children.Progressing && conditions["PodScheduled"] == "False":
		return o.Kind == "Pod"
	case theirs == status.InProgressStatus && ours == children.Failed && conditions["Stalled"] == "True":
		return conditions["Reconciling"] == "True"
	case ours == children.Unknown:
		written, _, _ := unstructured.NestedMap(content, "status")
		return theirs == status.CurrentStatus && len(written) == 0
	case theirs == status.CurrentStatus && ours == children.Progressing && o.Kind == "Job":
		return conditions["Complete"] != "True"
	case ours == children.Progressing && slices.Contains([]string{"Deployment", "ReplicaSet", "StatefulSet", "PodDisruptionBudget"}, o.Kind):
		return !seen
	case ours == children.Failed && o.Kind == "Pod":
		phase, _, _ := unstructured.NestedString(content, "status", "phase")
		return phase == "Failed"
	case ours == children.Failed && o.Kind == "PersistentVolumeClaim":
		phase, _, _ := unstructured.NestedString(content, "status", "phase")
		return phase == "Lost"
	}
	return false
}

func conditionsOf(content tree) map[string]string {
	found := map[string]string{}
	list, _, _ := unstructured.NestedSlice(content, "status", "conditions")
	for _, item := range list {
		if c, ok := item.(tree); ok {
			kind, _ := c["type"].(string)
			if _, known := found[kind]; !known {
				found[kind], _ = c["status"].(string)
			}
		}
	}
	return found
}

// suite returns the objects of the library's tests: each string constant that is a Kubernetes object as YAML.
func suite(t *testing.T) map[string]tree {
	t.Helper()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-f", "{{.Dir}}", "sigs.k8s.io/cli-utils/pkg/kstatus/status").Output()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]tree{}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			declared, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			for i, value := range declared.Values {
				if o := objectIn(value); o != nil {
					cases[declared.Names[i].Name] = o
				}
			}
			return true
		})
	}
	return cases
}

// objectIn returns the object whose YAML text a literal has; nil for others.
func objectIn(value ast.Expr) tree {
	literal, ok := value.(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return nil
	}
	text, err := strconv.Unquote(literal.Value)
	if err != nil {
		return nil
	}
	text = strings.ReplaceAll(text, "\t", "  ")
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return nil
	}
	decoded, err := object.DecodeJSON(data)
	o, ok := decoded.(tree)
	if err != nil || !ok || o["kind"] == nil {
		return nil
	}
	return o
}

// vary changes one value of an object in place.
func vary(r *rand.Rand, o tree) {
	switch r.IntN(8) {
	case 0:
		metadata, _ := o["metadata"].(tree)
		if metadata != nil {
			metadata["generation"] = int64(r.IntN(3))
		}
	case 1:
		delete(o, "status")
	case 2:
		section, _ := o["spec"].(tree)
		varyMember(r, section)
	case 3:
		setCondition(r, o)
	default:
		section, _ := o["status"].(tree)
		varyMember(r, section)
	}
}

func varyMember(r *rand.Rand, section tree) {
	keys := slices.Sorted(maps.Keys(section))
	if len(keys) == 0 {
		return
	}
	key := keys[r.IntN(len(keys))]
	switch value := section[key].(type) {
	case int64:
		section[key] = int64(r.IntN(5))
	case string:
		delete(section, key)
	case tree:
		varyMember(r, value)
	case []any:
		if len(value) > 0 {
			if item, ok := value[r.IntN(len(value))].(tree); ok {
				varyMember(r, item)
			}
		}
	}
	if r.IntN(5) == 0 {
		delete(section, key)
	}
}

func setCondition(r *rand.Rand, o tree) {
	section, ok := o["status"].(tree)
	if !ok {
		section = tree{}
		o["status"] = section
	}
	kinds := []string{"Ready", "Stalled", "Reconciling", "Available", "Progressing", "Complete", "Failed", "Suspended", "ReplicaFailure", "PodScheduled"}
	states := []string{"True", "False", "Unknown"}
	reasons := []string{"", "ProgressDeadlineExceeded", "NewReplicaSetAvailable", "Unschedulable", "PodCompleted"}
	kind := kinds[r.IntN(len(kinds))]
	list, _ := section["conditions"].([]any)
	list = slices.DeleteFunc(list, func(item any) bool { return item.(tree)["type"] == kind })
	section["conditions"] = append(list, tree{"type": kind, "status": states[r.IntN(len(states))], "reason": reasons[r.IntN(len(reasons))]})
}
