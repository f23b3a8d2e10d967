package engine

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// The resources that the operator itself looks at, if it may.
const (
	definitionsKey = "customresourcedefinitions.v1.apiextensions.k8s.io"
	namespacesKey  = "namespaces.v1"
)

// rescans are the delays ahead of the scans after a change of a definition: the server announces
// what it serves a moment later than it serves it.
var rescans = []time.Duration{0, 100 * time.Millisecond, 300 * time.Millisecond, time.Second, 3 * time.Second}

// observer follows which resources and namespaces there are, and keeps the ensemble to them.
type observer struct {
	*operator

	patterns []resources.NamespacePattern

	changed    chan struct{} // a definition has, the namespaces have, or a pause has begun or ended
	mu         sync.Mutex
	rescan     bool
	namespaces map[string]bool // that match the patterns; of no meaning without patterns

	all    []resources.Resource
	warned map[string]bool
}

// observe serves what is to be served, until the context ends.
func (o *operator) observe(ctx context.Context) error {
	ob := &observer{operator: o, changed: o.changed, namespaces: map[string]bool{}, warned: map[string]bool{}}
	for _, p := range o.config.Namespaces {
		ob.patterns = append(ob.patterns, resources.ParseNamespacePattern(p))
	}
	o.logger.Debug("Looking for the resources of the cluster.", "server", o.address)
	insisting := o.client.Telling(o.reach.insist(o.logger, "The resources of the cluster cannot be looked for: it is tried again."))
	found, err := insisting.Discover(ctx)
	switch {
	case ctx.Err() != nil:
		return ctx.Err() // whatever has failed before
	case err != nil:
		err = fmt.Errorf("looking for the resources of the cluster: %w", err)
		if o.logins == nil && apierrors.IsUnauthorized(err) {
			err = fmt.Errorf("%w: %w", ErrLogin, err) // and there are no other credentials to try
		}
		return err
	}
	ob.all = found.Resources
	ob.reportFailed(found.Failed)

	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	listed := ob.followNamespaces(ctx, &wg)
	ob.followDefinitions(ctx, &wg)
	select {
	case <-listed:
	case <-ctx.Done():
		return ctx.Err()
	}
	o.ensemble.whenReady(func() {
		o.logger.Debug("All objects are known: the operator is ready.")
		o.reporter.operator(func(op *inspect.Operator) { op.State = inspect.OperatorRunning })
		if o.config.OnReady != nil {
			o.config.OnReady()
		}
	})
	if missing := ob.adjust(ctx); missing && !ob.settings.ScanningDisabled {
		// A definition just before the start may be served, and not be announced yet.
		ob.scanSoon()
	}
	return ob.loop(ctx)
}

// scanSoon makes the observer look for resources, now and some moments later.
func (ob *observer) scanSoon() {
	ob.mu.Lock()
	ob.rescan = true
	ob.mu.Unlock()
	ob.signal()
}

// loop adjusts what is served to what there is.
func (ob *observer) loop(ctx context.Context) error {
	var again <-chan time.Time
	next := len(rescans)
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ob.changed:
			ob.mu.Lock()
			if ob.rescan {
				ob.rescan, next = false, 0
			}
			ob.mu.Unlock()
		case <-again:
		}
		again = nil
		if next < len(rescans) {
			ob.scan(ctx)
			if next++; next < len(rescans) {
				again = time.After(rescans[next])
			}
		}
		ob.adjust(ctx)
	}
}

func (ob *observer) scan(ctx context.Context) {
	found, err := ob.client.Discover(ctx)
	if err != nil {
		if ctx.Err() == nil {
			ob.logger.Warn("Looking for new resources has failed: it is tried again with their next change.", "error", err)
		}
		return
	}
	ob.all = withFailed(found, ob.all)
	ob.reportFailed(found.Failed)
}

// withFailed are the resources found, and those known before of the groups that cannot be
// looked into now: that their server is down does not mean that their objects are gone.
func withFailed(found kube.Discovery, before []resources.Resource) []resources.Resource {
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

// adjust resolves the selectors and starts and stops what has changed. It tells whether some
// select nothing.
func (ob *observer) adjust(ctx context.Context) (missing bool) {
	resolution := resources.Resolve(ob.config.Registry.Demands(), ob.all)
	for _, warning := range resolution.Warnings() {
		if !ob.warned[warning] {
			ob.warned[warning] = true
			ob.logger.Warn(warning)
		}
	}
	ob.reporter.serves(resolution.Served, ob.unserved(&resolution))
	if ob.paused.Load() {
		ob.ensemble.pause()
	} else {
		ob.ensemble.adjust(ctx, resolution.Served, ob.served())
	}
	return len(resolution.Unresolved) > 0
}

// served are the namespaces to watch; the empty one is the cluster.
func (ob *observer) served() []string {
	if len(ob.patterns) == 0 {
		return []string{""}
	}
	ob.mu.Lock()
	defer ob.mu.Unlock()
	var names []string
	for name := range sorted(ob.namespaces) {
		names = append(names, name)
	}
	return names
}

// signal makes the observer look at what has changed.
func (o *operator) signal() {
	select {
	case o.changed <- struct{}{}:
	default: // there is a signal waiting already
	}
}

func (ob *observer) reportFailed(failed map[string]error) {
	for group, err := range sorted(failed) {
		if !ob.warned[group] {
			ob.warned[group] = true
			ob.logger.Warn("The resources of an API group cannot be looked into: they are not served.", "group", group, "error", err)
		}
	}
}

// find returns a resource of the cluster by its key.
func (ob *observer) find(key string) *resources.Resource {
	i := slices.IndexFunc(ob.all, func(r resources.Resource) bool { return r.Key() == key })
	if i < 0 {
		return nil
	}
	return &ob.all[i]
}

// follow watches a resource for the observer's own sake. It ends with the context, or
// when it turns out that the operator may not: then it calls forbidden.
func (ob *observer) follow(ctx context.Context, wg *sync.WaitGroup, key string, options watch.Options, forbidden func()) bool {
	res := ob.find(key)
	if res == nil {
		return false
	}
	ctx, cancel := context.WithCancel(ctx)
	options.Client, options.Resource = ob.client, res
	options.Logger = ob.logger.With(observe.NameKey, "kopf.watching")
	options.InactivityTimeout, options.ReconnectBackoff = ob.settings.InactivityTimeout, ob.settings.ReconnectBackoff
	options.Restarted = func(r watch.Restart) {
		if r.Reason == watch.Forbidden {
			cancel()
			forbidden()
			return
		}
		ob.ensemble.restarted(options.Logger, dimension{resource: key}, r)
	}
	wg.Go(func() {
		defer cancel()
		watch.Run(ctx, options)
	})
	return true
}

// followDefinitions looks for resources again whenever a definition changes.
func (ob *observer) followDefinitions(ctx context.Context, wg *sync.WaitGroup) {
	if ob.settings.ScanningDisabled {
		return
	}
	first := true
	ob.follow(ctx, wg, definitionsKey, watch.Options{
		Handle: func(event watch.Event) {
			if event.Type != watch.Listed {
				ob.scanSoon()
			}
		},
		Listed: func(int) {
			if !first {
				ob.scanSoon()
			}
			first = false
		},
	}, func() {
		ob.logger.Warn("There are no permissions to watch the definitions of resources: resources that come and go are not noticed until the operator is restarted.")
	})
}

// followNamespaces keeps the namespaces that match the patterns. The channel closes
// when those that exist are known.
func (ob *observer) followNamespaces(ctx context.Context, wg *sync.WaitGroup) <-chan struct{} {
	listed := make(chan struct{})
	once := sync.OnceFunc(func() { close(listed) })
	if len(ob.patterns) == 0 {
		once()
		return listed
	}
	asIs := func() {
		ob.mu.Lock()
		for _, name := range resources.ExactNamespaces(ob.patterns) {
			ob.namespaces[name] = true
		}
		ob.mu.Unlock()
		once()
		ob.signal()
	}
	followed := ob.follow(ctx, wg, namespacesKey, watch.Options{
		Handle: func(event watch.Event) {
			name := event.Object.Name
			if !resources.MatchAnyNamespace(ob.patterns, name) {
				return
			}
			ob.mu.Lock()
			was := ob.namespaces[name]
			if event.Type == watch.Deleted {
				delete(ob.namespaces, name)
			} else {
				ob.namespaces[name] = true
			}
			changed := was != ob.namespaces[name]
			ob.mu.Unlock()
			if changed {
				ob.signal()
			}
		},
		Listed: func(int) { once() },
	}, func() {
		ob.logger.Warn("There are no permissions to watch the namespaces: those that are named are served as they are, patterns are not.")
		asIs()
	})
	if !followed {
		asIs()
	}
	return listed
}
