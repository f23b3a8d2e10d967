// Package filtering has a handler for each kind of filter.
package filtering

import (
	"context"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

// Example has the fields that the filters and handlers read.
type Example struct {
	Spec struct {
		Field string `json:"field"`
	} `json:"spec"`
}

// Register registers the handlers. kopf dev and kopf run call it.
func Register(r *kopf.Registry) {
	kex := kopf.Resource("kopf.dev/v1", "kopfexamples")
	on := func(id string, filters ...kopf.CreateOption) {
		kopf.OnCreate(r, kex, created, append(filters, kopf.ID(id))...)
	}

	// These match the object in obj.yaml.
	on("labels_matching", kopf.Labels{"somelabel": "somevalue"})
	on("labels_present", kopf.Labels{"somelabel": kopf.Present})
	on("labels_absent", kopf.Labels{"nonexistent": kopf.Absent})
	on("labels_callback", kopf.Labels{"somelabel": kopf.Where(isSomeValue)}, kopf.When(hasField))
	on("annotations_matching", kopf.Annotations{"someannotation": "somevalue"})
	on("annotations_present", kopf.Annotations{"someannotation": kopf.Present})
	on("annotations_absent", kopf.Annotations{"nonexistent": kopf.Absent})
	on("annotations_callback", kopf.Annotations{"someannotation": kopf.Where(isFilled)})
	on("filter_satisfied", kopf.When(func(context.Context, *kopf.Request) bool { return true }))
	on("filter_combined", kopf.When(hasGoodField))
	on("filter_of_cause", kopf.When(func(_ context.Context, c *kopf.Change[Example]) bool { return c.Reason == kopf.ReasonCreate }))
	on("value_satisfied", kopf.Field("spec.field"), kopf.Value("value"))
	on("value_absent", kopf.Field("spec.nonexistent"), kopf.Value(kopf.Absent))
	on("value_present", kopf.Field("spec.field")) // Present is the default

	// These do not match.
	on("labels_mismatching", kopf.Labels{"somelabel": "othervalue"})
	on("filter_failing", kopf.When(isWrong))
	on("value_mismatching", kopf.Field("spec.field"), kopf.Value("othervalue"))

	kopf.OnUpdate(r, kex, updated, kopf.Field("spec.field"), kopf.From("value"), kopf.To("changed"))
}

func isSomeValue(_ context.Context, v string) bool { return v == "somevalue" }
func isFilled(_ context.Context, v string) bool    { return v != "" }
func hasField(_ context.Context, e *Example) bool  { return e.Spec.Field != "" }
func isWrong(_ context.Context, e *Example) bool   { return e.Spec.Field == "wrong" }

func hasGoodField(ctx context.Context, e *Example) bool {
	return hasField(ctx, e) && !isWrong(ctx, e) && len(e.Spec.Field) < 100
}

func created(_ context.Context, c *kopf.Change[Example]) error {
	c.Logger.Info("the filters match")
	return nil
}

func updated(_ context.Context, c *kopf.Change[Example]) error {
	c.Logger.Info("the change of the field matches", "from", c.Old.Spec.Field, "to", c.Object.Spec.Field)
	return nil
}
