package serving

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync/atomic"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/schema"
)

// driftDelays are the delays before a missing or incomplete schema is read again. The API server publishes a new or
// changed schema some time after the definition.
var driftDelays = []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second}

// driftCheck compares the Go types of handlers with the schemas of custom resources. A field that the schema lacks is
// always empty, because the API server drops it.
type driftCheck struct {
	deps     *core.Deps
	changed  core.Wakeup // raised when served was stored
	served   atomic.Pointer[[]resources.Resource]
	outdated atomic.Bool // definitions may have changed since the last checks

	// Only run uses the other fields.

	passed map[string]bool // keys of the resources that need no check until their definitions change
	warned map[string]bool // logged warnings
}

// serve checks the served resources, unless they were checked before.
func (d *driftCheck) serve(served []resources.Resource) {
	d.served.Store(&served)
	d.changed.Raise()
}

// run checks resources until the context ends.
func (d *driftCheck) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.changed:
		}
		if d.outdated.Swap(false) {
			clear(d.passed)
		}
		for _, res := range *d.served.Load() {
			if !d.passed[res.Key()] && isCustom(&res) && len(d.deps.Registry.Typed(&res)) > 0 {
				d.check(ctx, &res)
			}
			d.passed[res.Key()] = true
		}
	}
}

// isCustom reports whether a resource is a custom one. The schemas of Kubernetes agree with the types of its libraries.
func isCustom(res *resources.Resource) bool {
	return strings.Contains(res.Group, ".") && !strings.HasSuffix(res.Group, ".k8s.io")
}

// check compares the types for one resource with its schema, and emits the result. It reads the schema a second time
// before it reports missing fields, if one of [driftDelays] is left.
func (d *driftCheck) check(ctx context.Context, res *resources.Resource) {
	found, err := d.compare(ctx, res)
	for _, delay := range driftDelays {
		if err == nil && len(found) == 0 {
			break
		}
		if core.Sleep(ctx, delay) != nil {
			return
		}
		before := err
		if found, err = d.compare(ctx, res); before == nil && err == nil {
			break
		}
	}
	switch {
	case ctx.Err() != nil:
		return
	case err != nil:
		d.deps.Logger.Debug("Cannot compare the types of handlers with the schema of "+res.Key(), observe.EventKey, observe.LogSchemaUnread, "error", err)
		return
	}
	observe.Emit(d.deps.Sink, observe.TypesCompared{Resource: res.Key(), Drift: found})
	for _, drift := range found {
		warning := fmt.Sprintf("%s is a field of the Go type %s, but not of the schema of %s: it is always empty. Used by %s",
			drift.Field, drift.Type, res.Key(), strings.Join(drift.Handlers, ", "))
		if !d.warned[warning] {
			d.warned[warning] = true
			d.deps.Logger.Warn(warning, observe.EventKey, observe.LogHandlerDrift)
		}
	}
}

// compare returns the fields that the schema of a resource lacks, sorted.
func (d *driftCheck) compare(ctx context.Context, res *resources.Resource) ([]inspect.Drift, error) {
	text, err := d.deps.Client.OpenAPI(ctx, res.Group, res.Version)
	if err != nil {
		return nil, err
	}
	document, err := schema.ParseDocument(text)
	if err != nil {
		return nil, err
	}
	kind := document.Kind(res.Group, res.Version, res.Kind)
	if kind == nil {
		return nil, fmt.Errorf("the API server publishes no schema of %s", res.Key())
	}
	type field struct{ path, typ string }
	users := map[field][]string{}
	for _, h := range d.deps.Registry.Typed(res) {
		var read object.Path // path of the field that has the type; empty for the whole object
		if h.Family == handlers.Field {
			read = h.Field
		}
		for _, path := range kind.Unknown(h.ObjectType, read...) {
			f := field{path, strings.TrimPrefix(h.ObjectType.String(), "*")}
			users[f] = append(users[f], h.ID)
		}
	}
	var found []inspect.Drift
	for f, ids := range users {
		slices.Sort(ids)
		found = append(found, inspect.Drift{Field: f.path, Type: f.typ, Handlers: slices.Compact(ids)})
	}
	sort.Slice(found, func(i, j int) bool { return found[i].Field+" "+found[i].Type < found[j].Field+" "+found[j].Type })
	return found, nil
}
