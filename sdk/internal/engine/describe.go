package engine

import (
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/engine/serving"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

// Describe describes an operator without a cluster: its handlers, and its permissions in a cluster with the given
// resources.
func Describe(config Config, known []inspect.APIResource) (inspect.Description, error) {
	settings := config.Settings()
	if err := settings.Check(config.Registry); err != nil {
		return inspect.Description{}, err
	}
	p := permissions{
		registry: config.Registry, settings: &settings, namespaces: serving.NewNamespaces(config.Namespaces, core.NewWakeup()),
		inspected: config.Inspector != "",
	}
	for _, r := range known {
		p.known = append(p.known, resources.Resource{
			Group: r.Group, Version: r.Version, Plural: r.Plural, Kind: r.Kind, Singular: r.Singular, Shortcuts: r.Shortcuts,
			Categories: r.Categories, Subresources: r.Subresources, Verbs: r.Verbs, Namespaced: r.Namespaced, Preferred: r.Preferred,
		})
	}
	d := inspect.Description{Namespaces: config.Namespaces, Liveness: settings.Liveness, Finalizer: settings.Finalizer}
	d.Prefix, d.Records = state.FailuresBeside(settings.Progress).Prefix, state.RecordFields(settings.DiffBase, settings.Progress)
	p.ofDiscovery()
	d.Peering, d.Leases, d.Webhooks = p.ofPeering(), p.ofReplicas(), p.ofWebhooks()
	for _, h := range config.Registry.All() {
		d.Handlers = append(d.Handlers, inspect.Registration{
			ID: h.ID, Kind: inspect.HandlerKind(h.Family), Selector: h.Selector.String(), Source: h.ShortSource(), Version: h.Version,
		})
	}
	d.Reviewed = p.reviewed()
	p.ofHandledObjects()
	p.ofChildren()
	p.ofWatched()
	p.ofRequests()
	d.Permissions, d.Unserved, d.Assumed = p.list, p.unserved, p.assumed
	return d, nil
}
