package state

import (
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
)

// storedAt reports whether a storage keeps the last-handled state of an object in one of the fields.
func storedAt(t *testing.T, base DiffBaseStorage, obj map[string]any, fields [][]string) bool {
	t.Helper()
	p := patch.NewPatch()
	if err := base.Store(obj, nil, map[string]any{"spec": map[string]any{"a": "b"}}, nil, p); err != nil {
		t.Fatal(err)
	}
	for _, field := range fields {
		if text, ok := p.Lookup(field); ok && strings.HasPrefix(text.(string), `{"spec"`) {
			return true
		}
	}
	return false
}

func TestRecordFields_AreWhereTheStateIsStored(t *testing.T) {
	replicaSet := map[string]any{"kind": "ReplicaSet", "metadata": map[string]any{"ownerReferences": []any{map[string]any{"kind": "Deployment"}}}}
	named := &AnnotationsDiffBase{Prefix: "acme.com", Key: "our-state", V1: true}
	long := &AnnotationsDiffBase{Prefix: "acme.com", Key: strings.Repeat("long-", 20), V1: true}
	inStatus := &StatusDiffBase{Field: object.Path{"status", "ours", "state"}}
	for title, base := range map[string]DiffBaseStorage{
		"default": NewAnnotationsDiffBase(), "named": named, "long": long, "status": inStatus, "several": MultiDiffBase{inStatus, named},
	} {
		fields := RecordFields(base, newAnnotationsProgress())
		for _, obj := range []map[string]any{{"kind": "Pod"}, replicaSet} {
			if !storedAt(t, base, obj, fields) {
				t.Errorf("%s: the state of a %s is not in %v", title, obj["kind"], fields)
			}
		}
		if storedAt(t, base, replicaSet, RecordFields(&StatusDiffBase{Field: object.Path{"status", "other"}}, newAnnotationsProgress())) {
			t.Errorf("%s: the state is in the fields of another storage", title)
		}
	}
}

func TestRecordFields_ProgressInTheStatus(t *testing.T) {
	fields := RecordFields(NewAnnotationsDiffBase(), MultiProgress{newAnnotationsProgress(), newStatusProgress("ours")})
	p := patch.NewPatch()
	if err := newStatusProgress("ours").Store(nil, "create", Record{Retries: 1}, p); err != nil {
		t.Fatal(err)
	}
	for _, field := range fields {
		if _, ok := p.Lookup(field); ok {
			return
		}
	}
	t.Errorf("the progress is not in %v", fields)
}

// userDefined is a storage whose fields are unknown.
type userDefined struct{ DiffBaseStorage }

func TestRecordFields_OfUserDefinedStorageAreUnknown(t *testing.T) {
	for _, base := range []DiffBaseStorage{userDefined{}, MultiDiffBase{NewAnnotationsDiffBase(), userDefined{}}} {
		if got := RecordFields(base, NewSmartProgress()); got != nil {
			t.Errorf("got %v", got)
		}
	}
}
