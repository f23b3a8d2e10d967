package observe

import (
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// describeHandler describes a registered handler.
func describeHandler(h *handlers.Handler) inspect.Handler {
	d := inspect.Handler{
		ID: h.ID, Kind: inspect.HandlerKind(h.Family), Selector: h.Selector.String(), Field: h.Field.String(), Source: h.ShortSource(),
	}
	if h.Retries != nil {
		d.Retries = *h.Retries
	}
	for _, name := range object.SortedKeys(h.Labels) {
		criterion := h.Labels[name]
		d.Filters = append(d.Filters, "label "+name+"="+criterion.Wants())
	}
	for _, name := range object.SortedKeys(h.Annotations) {
		criterion := h.Annotations[name]
		d.Filters = append(d.Filters, "annotation "+name+"="+criterion.Wants())
	}
	if h.Value != nil {
		d.Filters = append(d.Filters, "value="+h.Value.Wants())
	}
	if h.Old != nil {
		d.Filters = append(d.Filters, "old="+h.Old.Wants())
	}
	if h.New != nil {
		d.Filters = append(d.Filters, "new="+h.New.Wants())
	}
	if h.When != nil {
		d.Filters = append(d.Filters, "when "+h.WhenName)
	}
	return d
}
