package explain_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

func TestShortNames_LeaveOutFieldsWhereUnique(t *testing.T) {
	handlers := []inspect.Handler{
		{ID: "create"}, {ID: "resize/spec.size", Field: "spec.size"}, {ID: "x/spec.a", Field: "spec.a"}, {ID: "x/spec.b", Field: "spec.b"},
		{ID: "create/spec.c", Field: "spec.c"},
	}
	s := explain.NewState(&runner.State{Snapshot: &inspect.Snapshot{Handlers: handlers}}, nil)
	got := map[string]string{}
	for _, h := range handlers {
		got[h.ID] = s.ShortName(h.ID)
	}
	want := map[string]string{"create": "create", "resize/spec.size": "resize", "x/spec.a": "x/spec.a", "x/spec.b": "x/spec.b", "create/spec.c": "create/spec.c"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
