package kopftest

import (
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/testhooks"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

// Handler describes a registered handler: see [Handlers].
type Handler struct {
	ID       string // id of the handler, with its field if it has one: "resize/spec.size"
	Kind     string // "create", "field", "event", ...
	Selector string // the resources, such as "kopf.dev/v1 kopfexamples"; empty for activities
	Source   string // file:line of the registration
}

// Handlers describes the handlers of a registry, in the order of their registrations.
func Handlers(r *kopf.Registry) []Handler {
	var all []Handler
	for _, h := range testhooks.HandlersOf(r).All() {
		described := Handler{ID: h.ID, Kind: string(h.Family), Source: h.Source}
		if h.Family.Group() != handlers.Activities {
			described.Selector = h.Selector.String()
		}
		all = append(all, described)
	}
	return all
}
