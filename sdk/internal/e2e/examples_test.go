package e2e

import (
	"context"
	"errors"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

// examples are the handlers of Kopf's numbered examples, which made the recorded runs. Their calls
// are recorded as "name id".

type examples struct{ calls calls }

func (x *examples) noted(id string, fn func(*change) error) func(context.Context, *change) error {
	return func(_ context.Context, c *change) error {
		x.calls.add(c.Name + " " + id)
		return fn(c)
	}
}

func succeed(*change) error { return nil }

func (x *examples) minimal(r *kopf.Registry) {
	kopf.OnCreate(r, kexes, x.noted("create_fn", func(c *change) error {
		c.Result = tree{"message": "hello world"}
		return nil
	}), kopf.ID("create_fn"))
}

var errRecoverable = errors.New("An error that is supposed to be recoverable.") //nolint:revive,staticcheck // as recorded

// exceptions takes the delays as parameters, since the test of its trace changes them.
func (x *examples) exceptions(r *kopf.Registry, takes, delay, backoff time.Duration) {
	kopf.OnCreate(r, kexes, x.noted("instant_failure_with_only_a_message", func(*change) error {
		return kopf.Permanentf("Fail once and for all.")
	}), kopf.ID("instant_failure_with_only_a_message"))
	kopf.OnCreate(r, kexes, x.noted("eventual_success_with_a_few_messages", func(c *change) error {
		time.Sleep(takes)
		if c.Retry < 3 {
			return kopf.Temporaryf(delay, "Expected recoverable error.")
		}
		return nil
	}), kopf.ID("eventual_success_with_a_few_messages"))
	kopf.OnCreate(r, kexes, x.noted("eventual_failure_with_tracebacks", func(*change) error {
		return errRecoverable
	}), kopf.ID("eventual_failure_with_tracebacks"), kopf.Attempts(3), kopf.RetryDelay(backoff))
	kopf.OnCreate(r, kexes, x.noted("instant_failure_with_traceback", func(*change) error {
		return errRecoverable
	}), kopf.ID("instant_failure_with_traceback"), kopf.ErrorsPermanent, kopf.RetryDelay(backoff))
}

func (x *examples) handlers(r *kopf.Registry) {
	kopf.OnResume(r, kexes, x.noted("resume_fn_1", succeed), kopf.ID("resume_fn_1"))
	kopf.OnCreate(r, kexes, x.noted("create_fn_1", succeed), kopf.ID("create_fn_1"))
	kopf.OnCreate(r, kexes, x.noted("create_fn_2", succeed), kopf.ID("create_fn_2"))
	kopf.OnUpdate(r, kexes, x.noted("update_fn", succeed), kopf.ID("update_fn"))
	kopf.OnDelete(r, kexes, x.noted("delete_fn_1", succeed), kopf.ID("delete_fn_1"))
	kopf.OnDelete(r, kexes, x.noted("delete_fn_2", succeed), kopf.ID("delete_fn_2"))
	kopf.OnField(r, kexes, "spec.field", func(_ context.Context, c *kopf.FieldChange[string]) error {
		x.calls.add(c.Name + " field_fn")
		return nil
	}, kopf.ID("field_fn"))
	kopf.OnResume(r, kexes, x.noted("resume_fn_2", succeed), kopf.ID("resume_fn_2"))
}

func (x *examples) subhandlers(r *kopf.Registry) {
	kopf.OnCreate(r, kexes, x.noted("create_fn", func(c *change) error {
		items, _ := c.Body.Get("spec.items").([]any)
		for _, item := range items {
			id := item.(string)
			c.Sub(id, x.noted("create_fn/"+id, succeed))
		}
		return nil
	}), kopf.ID("create_fn"))
}

func (x *examples) events(r *kopf.Registry) {
	kopf.OnEvent(r, kexes, func(context.Context, *event) error {
		return errors.New("Oops!") //nolint:revive,staticcheck // as recorded
	}, kopf.ID("event_fn_with_error"))
	kopf.OnEvent(r, kexes, func(context.Context, *event) error { return nil }, kopf.ID("normal_event_fn"))
}

// filtering has a delete handler where the example has a daemon for the same objects:
// both need the finalizer for as long as the field has its value.
func (x *examples) filtering(r *kopf.Registry) {
	says := func(words string) func(*change) error {
		return func(c *change) error {
			c.Logger.Info(words)
			return nil
		}
	}
	on := func(id, words string, opts ...kopf.CreateOption) {
		kopf.OnCreate(r, kexes, x.noted(id, says(words)), append(opts, kopf.ID(id))...)
	}
	is := func(value string) kopf.Criterion {
		return kopf.Where(func(_ context.Context, v string) bool { return v == value })
	}
	on("create_with_labels_matching", "Label is matching.", kopf.Labels{"somelabel": "somevalue"})
	on("create_with_labels_present", "Label is present.", kopf.Labels{"somelabel": kopf.Present})
	on("create_with_labels_absent", "Label is absent.", kopf.Labels{"nonexistent": kopf.Absent})
	on("create_with_labels_callback_matching", "Label callback matching.", kopf.Labels{"somelabel": is("somevalue")})
	on("create_with_labels_not_matching", "", kopf.Labels{"somelabel": "othervalue"})
	on("create_with_annotations_matching", "Annotation is matching.", kopf.Annotations{"someannotation": "somevalue"})
	on("create_with_annotations_present", "Annotation is present.", kopf.Annotations{"someannotation": kopf.Present})
	on("create_with_annotations_absent", "Annotation is absent.", kopf.Annotations{"nonexistent": kopf.Absent})
	on("create_with_annotations_callback_not_matching", "", kopf.Annotations{"someannotation": is("othervalue")})
	on("create_with_filter_satisfied", "Filter satisfied.", kopf.When(func(context.Context, *kopf.Object) bool { return true }))
	on("create_with_filter_not_satisfied", "", kopf.When(func(context.Context, *kopf.Object) bool { return false }))
	on("create_with_field_value_satisfied", "Field value is satisfied.", kopf.Field("spec.field"), kopf.Value("value"))
	on("create_with_field_value_not_satisfied", "", kopf.Field("spec.field"), kopf.Value("other"))
	on("create_with_field_presence_satisfied", "Field presence is satisfied.", kopf.Field("spec.field"), kopf.Value(kopf.Present))
	on("create_with_field_presence_not_satisfied", "", kopf.Field("spec.other"), kopf.Value(kopf.Present))
	kopf.OnUpdate(r, kexes, x.noted("update_with_field_change_satisfied", succeed), kopf.ID("update_with_field_change_satisfied"),
		kopf.Field("spec.field"), kopf.From("value"), kopf.To("changed"))
	kopf.OnDelete(r, kexes, x.noted("daemon_with_field", succeed), kopf.ID("daemon_with_field"),
		kopf.When(func(_ context.Context, o *kopf.Object) bool { return o.Get("spec.field") == "value" }))
}
