package cycle

import (
	"slices"
	"testing"

	"github.com/kopf-dev/kopf/sdk/internal/engine/outbox"
	"github.com/kopf-dev/kopf/sdk/internal/engine/plan"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
)

func TestChangedFields_WithoutTheOperatorsRecords(t *testing.T) {
	before, err := version(t, `{"metadata":{"annotations":{"other":"1"},"generation":1,"resourceVersion":"1"},"spec":{"f":1,"g":1}}`).Tree()
	if err != nil {
		t.Fatal(err)
	}
	c := &cycle{view: &plan.View{Tree: before}, writes: outbox.Writes{Own: patch.NewPatch()}}
	c.writes.Own.Set(own("progress"), "x")
	c.writes.Own.Remove(own("gone"))
	c.writes.Own.Set(object.Path{"status", "kopf", "progress"}, "x")
	c.sent.answer = version(t, `{"metadata":{"annotations":{"other":"2","progress":"x"},"generation":2,"managedFields":[{}],"resourceVersion":"2"},
		"spec":{"f":2,"g":1},"status":{"kopf":{"progress":"x"}}}`)
	if got, want := c.changedFields(), []string{"metadata.annotations.other", "spec.f"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
