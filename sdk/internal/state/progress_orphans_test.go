package state

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOrphans_RecordsOfUnknownHandlers(t *testing.T) {
	record := `{"started":"2026-01-01T00:00:00.000000+00:00","retries":2,"success":false,"failure":false}`
	parent := `{"started":"2026-01-01T00:00:00.000000+00:00","retries":1,"success":false,"failure":false,"subrefs":["create/a"]}`
	object := map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{
			"kopf.zalando.org/create":                     parent,
			"kopf.zalando.org/create.a":                   record,
			"kopf.zalando.org/create.b":                   record,
			"kopf.zalando.org/renamed":                    record,
			"kopf.zalando.org/resize.spec.size":           record,
			"kopf.zalando.org/touch-dummy":                "2026-01-01T00:00:00",
			"kopf.zalando.org/last-handled-configuration": `{"spec":{}}`,
			"kopf.zalando.org/broken":                     `{"started":`,
			"other.example.com/foreign":                   record,
			"someannotation":                              record,
		}},
		"status": map[string]any{"kopf": map[string]any{"progress": map[string]any{
			"create":  map[string]any{"retries": int64(1)},
			"old":     map[string]any{"retries": int64(1)},
			"renamed": map[string]any{"retries": int64(1)},
			"nothing": "text",
		}}},
	}
	var names []string
	for _, o := range Orphans(object, NewSmartProgress(), []string{"create", "resize/spec.size"}) {
		names = append(names, o.ID)
	}
	if diff := cmp.Diff([]string{"create/b", "old", "renamed"}, names); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestOrphans_NoneWithoutRecords(t *testing.T) {
	if got := Orphans(map[string]any{}, NewSmartProgress(), nil); got != nil {
		t.Errorf("got %v", got)
	}
}

func TestOrphans_CopiesFromDeploymentAreNone(t *testing.T) {
	record := `{"started":"2026-01-01T00:00:00.000000+00:00","retries":2,"success":false,"failure":false}`
	object := map[string]any{
		"kind": "ReplicaSet",
		"metadata": map[string]any{
			"ownerReferences": []any{map[string]any{"kind": "Deployment", "name": "d"}},
			"annotations": map[string]any{
				"kopf.zalando.org/of_the_deployment": record,
				"kopf.zalando.org/known-ofDRS":       record,
				"kopf.zalando.org/renamed-ofDRS":     record,
			},
		},
	}
	found := Orphans(object, NewSmartProgress(), []string{"known"})
	if len(found) != 1 || found[0].ID != "renamed" {
		t.Errorf("%+v", found)
	}
}

func TestOrphans_IDsOfNames(t *testing.T) {
	record := `{"started":"2026-01-01T00:00:00.000000+00:00","retries":2,"success":false,"failure":false}`
	storage := newAnnotationsProgress()
	for id, shortened := range map[string]bool{
		"create_e": false, "create_e/two": false, "resize/spec.size.max": false, "with-dashes": false,
		strings.Repeat("x", 50): false, strings.Repeat("x", 70): true,
	} {
		key := storage.keys(id, nil)[0]
		found := Orphans(map[string]any{"metadata": map[string]any{"annotations": map[string]any{key: record}}}, storage, nil)
		if len(found) != 1 || found[0].Shortened != shortened || !shortened && found[0].ID != id {
			t.Errorf("%s: %+v", id, found)
		}
	}
}
