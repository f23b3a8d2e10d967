package state

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
)

// withAnnotations returns the object with the annotations of the patch.
func withAnnotations(obj map[string]any, p *patch.Patch) map[string]any {
	merged := map[string]any{"kind": obj["kind"]}
	p.Edit(func(merge map[string]any) {
		metadata, _ := merge["metadata"].(map[string]any)
		annotations, _ := metadata["annotations"].(map[string]any)
		merged["metadata"] = map[string]any{"annotations": annotations}
	})
	return merged
}

func TestFailures_ReadWhatWasStored(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 678000, time.UTC)
	want := []Failure{
		{Handler: "create", Purpose: "update", Started: at, Stopped: at.Add(time.Second), Retries: 3, Message: "no <size>", Again: true,
			Old: map[string]any{"spec": map[string]any{"size": int64(1), "share": 0.5}}},
		{Handler: "parent/" + strings.Repeat("long", 30), Parent: "parent", Purpose: "create", Started: at, Stopped: at, Done: []string{"parent/a"}},
	}
	for _, prefix := range []string{"kopf.zalando.org", "my.example.com"} {
		failures, p := Failures{Prefix: prefix}, patch.NewPatch()
		for _, f := range want {
			if err := failures.Store(nil, f, p); err != nil {
				t.Fatal(err)
			}
		}
		obj := withAnnotations(nil, p)
		if diff := cmp.Diff(want, failures.Read(obj, []string{"create", "parent"})); diff != "" {
			t.Error(diff)
		}
		if got := failures.Read(obj, []string{"other"}); len(got) != 0 {
			t.Errorf("those of other operators are read: %+v", got)
		}
		if got := failures.Clear(BuildEssence(obj, []object.Path{{"metadata", "annotations"}}, nil)); len(got) > 1 {
			t.Errorf("they belong to the essence: %v", got)
		}
		if got := BuildEssence(obj, nil, nil); len(got) != 0 {
			t.Errorf("they belong to the essence: %v", got)
		}
		p = patch.NewPatch()
		failures.Remove(obj, "create", p)
		failures.Remove(obj, "other", p)
		if got := len(withAnnotations(nil, p)["metadata"].(map[string]any)["annotations"].(map[string]any)); got != 1 {
			t.Errorf("%d annotations are removed", got)
		}
	}
}

func TestFailures_BigStatesAndMessagesAreNotKept(t *testing.T) {
	failures, p := Failures{Prefix: "kopf.zalando.org"}, patch.NewPatch()
	big := map[string]any{"spec": strings.Repeat("x", maxFailureOld)}
	if err := failures.Store(nil, Failure{Handler: "a", Message: strings.Repeat("é", 2*maxFailureMessage), Old: big}, p); err != nil {
		t.Fatal(err)
	}
	got := failures.Read(withAnnotations(nil, p), []string{"a"})
	if len(got) != 1 || got[0].Old != nil || got[0].Message != strings.Repeat("é", maxFailureMessage) {
		t.Errorf("%+v", got)
	}
}

func TestFailures_IgnoreCopiesAndOtherTexts(t *testing.T) {
	failures, p := Failures{Prefix: "kopf.zalando.org"}, patch.NewPatch()
	deployment := map[string]any{"kind": "Deployment"}
	if err := failures.Store(deployment, Failure{Handler: "a"}, p); err != nil {
		t.Fatal(err)
	}
	replicaSet := withAnnotations(deployment, p)
	if got := failures.Read(replicaSet, []string{"a"}); len(got) != 1 {
		t.Fatalf("%+v", got)
	}
	replicaSet["kind"] = "ReplicaSet"
	replicaSet["metadata"].(map[string]any)["ownerReferences"] = []any{map[string]any{"kind": "Deployment"}}
	if got := failures.Read(replicaSet, []string{"a"}); len(got) != 0 {
		t.Errorf("what Kubernetes has copied is read: %+v", got)
	}
	other := map[string]any{"metadata": map[string]any{"annotations": map[string]any{
		"kopf.zalando.org/failed-handler.a": "yes",
		"kopf.zalando.org/failed-handler.b": `{"handler":"a","purpose":"create","started":"2026-01-02","stopped":"2026-01-02","attempts":1}`,
		"kopf.zalando.org/failed-handler.c": `{"handler":"c","started":"soon"}`,
	}}}
	if got := failures.Read(other, []string{"a", "b", "c"}); len(got) != 0 {
		t.Errorf("%+v", got)
	}
	if got := Orphans(other, newAnnotationsProgress(), nil); len(got) != 0 {
		t.Errorf("they are taken for progress: %+v", got)
	}
}

func TestFailuresBeside_HaveThePrefixOfTheProgress(t *testing.T) {
	for want, storage := range map[string]ProgressStorage{
		"my.example.com":    MultiProgress{newStatusProgress(""), &AnnotationsProgress{Prefix: "my.example.com"}},
		"kopf.zalando.org":  newStatusProgress(""),
		"other.example.com": &AnnotationsProgress{Prefix: "other.example.com"},
	} {
		if got := FailuresBeside(storage).Prefix; got != want {
			t.Errorf("%s instead of %s", got, want)
		}
	}
}
