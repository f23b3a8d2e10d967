package rehandle

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

func TestMark_MarksTheObjectsThatAreLeft(t *testing.T) {
	const key, value = "my.example.com/rehandle-handler.a", `{"handler":"a","version":"2","uid":"u"}`
	failure := `{"handler":"a","parent":"a","purpose":"create","started":"2026-01-02T03:04:05.000000Z","stopped":"2026-01-02T03:04:05.000000Z","attempts":1,"message":"no","version":%q}`
	for name, test := range map[string]struct {
		resource    string
		annotations map[string]any
		deleted     bool
		marked      bool
	}{
		"without records":            {resource: "configmaps", marked: true},
		"handled by another version": {resource: "configmaps", annotations: map[string]any{"my.example.com/handler-versions": `{"versions":{"a":"1.5"}}`}, marked: true},
		"handled by the version":     {resource: "configmaps", annotations: map[string]any{"my.example.com/handler-versions": `{"versions":{"a":"2"}}`}},
		"failed with the version":    {resource: "configmaps", annotations: map[string]any{"my.example.com/failed-handler.a": fmt.Sprintf(failure, "2")}},
		"failed with another":        {resource: "configmaps", annotations: map[string]any{"my.example.com/failed-handler.a": fmt.Sprintf(failure, "1")}, marked: true},
		"paused":                     {resource: "configmaps", annotations: map[string]any{"kopf.dev/paused": ""}},
		"being deleted":              {resource: "configmaps", deleted: true},
		"marked before":              {resource: "configmaps", annotations: map[string]any{key: value}},
		"another resource":           {resource: "secrets"},
	} {
		t.Run(name, func(t *testing.T) {
			metadata := map[string]any{"name": "x", "uid": "u"}
			want := map[string]any{"name": "x", "uid": "u"}
			if test.annotations != nil {
				metadata["annotations"] = test.annotations
				all := make(map[string]any)
				for name, value := range test.annotations {
					all[name] = value
				}
				want["annotations"] = all
			}
			if test.deleted {
				metadata["deletionTimestamp"], want["deletionTimestamp"] = "2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z"
			}
			marked := Mark([]inspect.Description{operator(map[string]string{"a": "2", "b": ""})}, schema.GroupResource{Resource: test.resource}, map[string]any{"kind": "ConfigMap", "metadata": metadata})
			if test.marked {
				if want["annotations"] == nil {
					want["annotations"] = make(map[string]any)
				}
				for name, value := range map[string]any{key: value, "my.example.com/kopf-managed": "yes"} {
					want["annotations"].(map[string]any)[name] = value
				}
			}
			if diff := cmp.Diff(want, metadata); diff != "" || len(marked) == 1 != test.marked {
				text, _ := json.Marshal(marked)
				t.Errorf("marked for %s: %s", text, diff)
			}
			target := Target{Handler: "a", Version: "2", Prefix: "my.example.com"}
			if got := target.HasMark(map[string]any{"metadata": metadata}); got != (test.marked || name == "marked before") {
				t.Errorf("the mark is seen: %v", got)
			}
		})
	}
}
