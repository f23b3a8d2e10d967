package observe

import (
	"slices"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/redact"
)

// slotsOf describes the limit of a handler's calls; nil if there is none. Its id is the place of the first handler with the limit.
func slotsOf(h *handlers.Handler, all []*handlers.Handler) *inspect.Slots {
	if h.CallLimit == nil {
		return nil
	}
	first := slices.IndexFunc(all, func(other *handlers.Handler) bool { return other.CallLimit == h.CallLimit })
	return &inspect.Slots{ID: first + 1, Running: h.CallLimit.Running, Rate: h.CallLimit.Rate, Per: inspect.Duration(h.CallLimit.Per)}
}

// describeHandler describes a registered handler. The values that hidden fields must have are hidden, too.
func describeHandler(h *handlers.Handler, policy *redact.Policy) inspect.Handler {
	secrets := policy.OfSelected(&h.Selector)
	wants := func(kind handlers.MismatchKind, path string, c *handlers.Criterion) string {
		return secrets.Mismatch(handlers.Mismatch{Kind: kind, Path: path, Wants: c.Wants()}).Wants
	}
	d := inspect.Handler{
		ID: h.ID, Kind: inspect.HandlerKind(h.Family), Selector: h.Selector.String(), Field: h.Field.String(), Source: h.ShortSource(), Version: h.Version,
	}
	if h.Retries != nil {
		d.Retries = *h.Retries
	}
	for _, reason := range h.Reasons {
		d.Reasons = append(d.Reasons, inspect.Reason(reason))
	}
	for _, name := range object.SortedKeys(h.Labels) {
		criterion := h.Labels[name]
		d.Filters = append(d.Filters, "label "+name+"="+wants(handlers.MismatchLabel, name, &criterion))
	}
	for _, name := range object.SortedKeys(h.Annotations) {
		criterion := h.Annotations[name]
		d.Filters = append(d.Filters, "annotation "+name+"="+wants(handlers.MismatchAnnotation, name, &criterion))
	}
	if h.Value != nil {
		d.Filters = append(d.Filters, "value="+wants(handlers.MismatchValue, d.Field, h.Value))
	}
	if h.Old != nil {
		d.Filters = append(d.Filters, "old="+wants(handlers.MismatchOld, d.Field, h.Old))
	}
	if h.New != nil {
		d.Filters = append(d.Filters, "new="+wants(handlers.MismatchNew, d.Field, h.New))
	}
	if h.When != nil {
		d.Filters = append(d.Filters, "when "+h.WhenName)
	}
	return d
}
