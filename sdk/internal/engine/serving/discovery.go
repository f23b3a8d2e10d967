package serving

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/engine/peers"
	"github.com/kopf-dev/kopf/sdk/internal/engine/reviews"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// Keys of the resources that the operator watches for itself, if permitted.
const (
	definitionsKey = "customresourcedefinitions.v1.apiextensions.k8s.io"
	namespacesKey  = "namespaces.v1"
)

// rescanDelays are the delays before the scans after a change of a CRD. The API server adds a new resource or its new
// categories to its discovery some time after it starts to serve the resource; a busy server takes seconds.
var rescanDelays = []time.Duration{
	0, 100 * time.Millisecond, 300 * time.Millisecond, time.Second, 3 * time.Second, 10 * time.Second, 30 * time.Second,
}

// Discovery follows the resources and namespaces of the cluster, and starts and stops streams accordingly.
type Discovery struct {
	deps       *core.Deps
	streams    *Streams
	admission  reviews.AdmissionControl
	namespaces *Namespaces
	peerings   *peers.Peerings
	passes     core.Passes
	rescan     core.Wakeup // raised when a CRD has changed

	Joined <-chan struct{} // closed when the operator knows its first shards; nil if it handles all objects

	known  []resources.Resource // resources of the cluster
	warned map[string]bool
	pauses int64 // number of pauses for which the streams were stopped
	outage *discoveryOutage
	drift  *driftCheck
}

// NewDiscovery returns the discovery of an operator.
func NewDiscovery(d *core.Deps, s *Streams, a reviews.AdmissionControl, n *Namespaces, p *peers.Peerings, r core.Passes) *Discovery {
	return &Discovery{
		deps: d, streams: s, admission: a, namespaces: n, peerings: p, passes: r,
		rescan: core.NewWakeup(), warned: map[string]bool{}, outage: &discoveryOutage{logger: d.Logger, sink: d.Sink},
		drift: &driftCheck{deps: d, changed: core.NewWakeup(), passed: map[string]bool{}, warned: map[string]bool{}},
	}
}

// Run serves the resources and namespaces until the context ends.
func (d *Discovery) Run(ctx context.Context) error {
	switch err := d.scan(ctx, d.deps.Client.WithRetryHook(d.outage.retrying)); {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil: // the client has given up its retries
		return fmt.Errorf("discover the resources of the cluster: %w", err)
	}
	if err := d.checkHandlers(); err != nil {
		return err
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	listed := d.watchNamespaces(ctx, &wg)
	d.watchDefinitions(ctx, &wg)
	if !d.deps.Settings.ScanningDisabled {
		wg.Go(func() { d.drift.run(ctx) })
	}
	for _, known := range []<-chan struct{}{listed, d.Joined} {
		if known == nil {
			continue
		}
		select {
		case <-known:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if unresolved := d.adjustStreams(ctx); unresolved {
		d.rescan.Raise() // a CRD that was created just before the start may not be discoverable yet
	}
	return d.followChanges(ctx)
}

// followChanges adjusts the streams after each change.
func (d *Discovery) followChanges(ctx context.Context) error {
	var again <-chan time.Time
	next, scanning := 0, false
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-d.namespaces.changed: // or the operator was paused or resumed
		case <-d.rescan: // now, and again after each of the delays
			next, scanning = 0, true
		case <-again:
		}
		again = nil
		if scanning {
			d.drift.outdated.Store(true)
			err := d.scan(ctx, d.deps.Client)
			if next, scanning = nextScan(next, err); scanning {
				again = time.After(rescanDelays[next])
			}
			if err != nil && ctx.Err() == nil {
				d.outage.failed(observe.LogDiscoveryFailed, err, rescanDelays[next])
			}
		}
		d.adjustStreams(ctx)
	}
}

// nextScan returns the next index in [rescanDelays], and whether to scan again. The last scan is repeated until it succeeds.
func nextScan(number int, err error) (int, bool) {
	if number < len(rescanDelays)-1 {
		return number + 1, true
	}
	return number, err != nil
}

func (d *Discovery) scan(ctx context.Context, client *kube.Client) error {
	found, err := client.Discover(ctx)
	if err != nil {
		return err
	}
	d.known = withUndiscoverable(found, d.known)
	for _, group := range object.SortedKeys(found.Failed) {
		d.warnOnce(group, observe.LogDiscoveryFailed, "Cannot discover the resources of an API group; not serving them",
			"group", group, "error", found.Failed[group])
	}
	d.outage.over()
	return nil
}

// warnOnce logs a warning, unless one with the same key was logged.
func (d *Discovery) warnOnce(key string, event observe.LogName, warning string, args ...any) {
	if !d.warned[key] {
		d.warned[key] = true
		d.deps.Logger.Warn(warning, append([]any{observe.EventKey, event}, args...)...)
	}
}

// withUndiscoverable returns the found resources, and the known resources of API groups whose discovery failed: if their
// server is down, their objects still exist.
func withUndiscoverable(found kube.Discovery, before []resources.Resource) []resources.Resource {
	all := found.Resources
	for _, res := range before {
		_, group := found.Failed[res.Group]
		_, version := found.Failed[res.Group+"/"+res.Version]
		known := func(r resources.Resource) bool { return r.Key() == res.Key() }
		if (group || version) && !slices.ContainsFunc(found.Resources, known) {
			all = append(all, res)
		}
	}
	return all
}

// adjustStreams starts the streams of new resources and namespaces, and stops the streams of deleted ones. It reports
// whether a selector matches no resource.
func (d *Discovery) adjustStreams(ctx context.Context) (unresolved bool) {
	known := d.known // never modified, only replaced
	d.deps.Known.Store(&known)
	resolution := d.resolve()
	d.warnOfUnserved(&resolution)
	for i := range resolution.Served {
		for _, warning := range d.deps.Registry.ForeignKinds(&resolution.Served[i], d.known) {
			d.warnOnce(warning, observe.LogHandlerForeign, warning)
		}
	}
	d.peerings.Adjust(d.known, d.namespaces.names())
	d.drift.serve(resolution.Served)
	reviewed := d.adjustAdmission()
	paused := d.deps.State.Paused.Load()
	if pauses := d.deps.State.Pauses.Load(); pauses != d.pauses || paused {
		d.pauses = pauses
		d.peerings.Pauses.WhileStopped(func() {
			d.streams.pause()
			d.passes.Stop()
		})
	}
	if !paused {
		d.passes.Adjust(ctx, resolution.Served, d.known, d.namespaces.names()) // first, so that no pass begins before it
		d.streams.adjust(ctx, resolution.Served, d.namespaces.names())
	}
	// Last, because a resource counts as listed unless one of its streams has started.
	observe.Emit(d.deps.Sink, observe.ResourcesServed{Resolution: &resolution, Reviewed: reviewed})
	return len(resolution.Unresolved) > 0 || reviewed != nil && len(reviewed.Unresolved) > 0
}

// warnOfUnserved warns of selectors that match no resources, once for each reason.
func (d *Discovery) warnOfUnserved(resolution *resources.Resolution) {
	for _, warning := range append(resolution.Warnings(), d.deps.Registry.IdleConditions(d.known)...) {
		d.warnOnce(warning, observe.LogResourcesUnserved, warning)
	}
}

// adjustAdmission sets the resources with admission handlers, and returns them; nil if there are no such handlers.
func (d *Discovery) adjustAdmission() *resources.Resolution {
	if len(d.deps.Registry.Admission()) == 0 {
		return nil
	}
	resolution := resources.Resolve(d.deps.Registry.AdmissionDemands(), d.known)
	d.warnOfUnserved(&resolution)
	var namespaces []string
	if !d.namespaces.ClusterWide() {
		namespaces = d.namespaces.names()
	}
	d.admission.Serve(resolution.Served, namespaces)
	return &resolution
}

// resolve selects the resources to serve. Selectors in different notations can match one resource, so conflicts between
// the ids of its handlers are only detected here.
func (d *Discovery) resolve() resources.Resolution {
	resolution := resources.Resolve(d.deps.Registry.Demands(), d.known)
	resolution.Reject(func(res *resources.Resource) string {
		set := d.deps.Registry.ForResource(res)
		if conflicts := set.Conflicts(); len(conflicts) > 0 {
			return conflicts[0].String()
		}
		return d.deps.Shards.Refuses(set)
	})
	return resolution
}

// checkHandlers returns an error if handlers of a resource have the same id, or if replicas cannot share its objects.
func (d *Discovery) checkHandlers() error {
	var errs []error
	for _, rejected := range d.resolve().Rejected {
		errs = append(errs, fmt.Errorf("serve %s: %s", rejected.Resource.Key(), rejected.Reason))
	}
	return errors.Join(errs...)
}

// watchDefinitions watches the CRDs, unless the settings disable it, or all handlers are for built-in resources.
func (d *Discovery) watchDefinitions(ctx context.Context, wg *sync.WaitGroup) {
	if d.deps.Settings.ScanningDisabled || !ServesCustomResources(d.deps.Registry) {
		return
	}
	relisted := false
	d.watch(ctx, wg, definitionsKey, watch.Options{
		Handle: func(event watch.Event) {
			if event.Type != watch.Listed {
				d.rescan.Raise()
			}
		},
		Listed: func(int) {
			if relisted {
				d.rescan.Raise()
			}
			relisted = true
		},
	}, func() {
		d.deps.Logger.Warn("Cannot watch CustomResourceDefinitions (forbidden): restart the operator to serve new resources and to stop serving deleted ones",
			observe.EventKey, observe.LogDiscoveryForbidden)
	})
}

// ServesCustomResources reports whether a handler may be for custom resources.
func ServesCustomResources(registry *handlers.Registry) bool {
	demands := registry.Demands()
	return len(demands) == 0 || slices.ContainsFunc(demands, func(d resources.Demand) bool { return !d.Selector.BuiltInOnly() })
}

// watchNamespaces watches the namespaces if there are patterns, or only lists them if the settings disable the watch.
// The channel closes when all existing namespaces are known; it is nil if they are known already.
func (d *Discovery) watchNamespaces(ctx context.Context, wg *sync.WaitGroup) <-chan struct{} {
	if d.namespaces.ClusterWide() {
		return nil
	}
	if d.deps.Settings.ScanningDisabled {
		d.listNamespaces(ctx)
		return nil
	}
	listed := make(chan struct{})
	once := sync.OnceFunc(func() { close(listed) })
	options := watch.Options{Handle: d.namespaces.appearedOrDeleted, Listed: func(int) { once() }}
	if !d.watch(ctx, wg, namespacesKey, options, func() {
		d.deps.Logger.Warn("Cannot watch the namespaces (forbidden): serving the named ones, ignoring patterns",
			observe.EventKey, observe.LogNamespacesForbidden)
		d.namespaces.assumeExist()
		once()
	}) {
		d.namespaces.assumeExist()
		return nil
	}
	return listed
}

// listNamespaces finds the namespaces that match the patterns now. Exactly named namespaces are served even if they do
// not exist yet, and need no permission to list.
func (d *Discovery) listNamespaces(ctx context.Context) {
	d.namespaces.assumeExist()
	res := d.find(namespacesKey)
	if res == nil || d.namespaces.AllNamed() {
		return
	}
	list, err := d.deps.Client.WithoutRetries().List(ctx, res, "", kube.ListOptions{})
	if err != nil && kube.Classify(err) != kube.Forbidden {
		list, err = d.deps.Client.List(ctx, res, "", kube.ListOptions{})
	}
	if err != nil {
		d.deps.Logger.Warn("Cannot list the namespaces: serving the named ones, ignoring patterns",
			observe.EventKey, observe.LogNamespacesForbidden, "error", err)
		return
	}
	for _, namespace := range list.Items {
		d.namespaces.appearedOrDeleted(watch.Event{Type: watch.Listed, Object: namespace})
	}
}

// find returns the resource with a key; nil if the cluster does not have it.
func (d *Discovery) find(key string) *resources.Resource {
	i := slices.IndexFunc(d.known, func(r resources.Resource) bool { return r.Key() == key })
	if i < 0 {
		return nil
	}
	return &d.known[i]
}

// watch watches a resource for the operator itself until the context ends. If the watch is forbidden, it stops and calls
// forbidden. It returns false if the cluster does not have the resource.
func (d *Discovery) watch(ctx context.Context, wg *sync.WaitGroup, key string, options watch.Options, forbidden func()) bool {
	res := d.find(key)
	if res == nil {
		return false
	}
	ctx, cancel := context.WithCancel(ctx)
	options.Client, options.Resource = d.deps.Client, res
	options.Logger = d.deps.Logger.With(observe.NameKey, "kopf.watching", observe.EventKey, observe.LogStreamDetail)
	options.InactivityTimeout, options.ReconnectBackoff = d.deps.Settings.InactivityTimeout, d.deps.Settings.ReconnectBackoff
	options.Restarted = func(r watch.Restart) {
		if r.Reason == watch.Forbidden {
			cancel()
			forbidden()
			return
		}
		d.streams.restarted(resources.Scope{Resource: key}, r)
	}
	wg.Go(func() {
		defer cancel()
		watch.Run(ctx, options)
	})
	return true
}
