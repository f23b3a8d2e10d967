package kopftest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// servedInterval is how often the test polls the cluster for a resource. Discovery has no watch.
const servedInterval = 10 * time.Millisecond

// resourceOfKind returns the resource for the apiVersion and kind of a manifest.
func (c *Cluster) resourceOfKind(ctx context.Context, apiVersion, kind string) (*resources.Resource, error) {
	find := func() *resources.Resource {
		c.mu.Lock()
		defer c.mu.Unlock()
		i := slices.IndexFunc(c.resources, func(r resources.Resource) bool {
			return r.APIVersion() == apiVersion && r.Kind == kind
		})
		if i < 0 {
			return nil
		}
		return &c.resources[i]
	}
	if res := find(); res != nil {
		return res, nil
	}
	// The discovery documents of a group are always current, unlike the aggregated document.
	if err := c.look(ctx, groupOf(apiVersion)); err != nil {
		return nil, err
	}
	if res := find(); res != nil {
		return res, nil
	}
	return nil, unknownKindError{apiVersion, kind, c.versionsOf(kind)}
}

// versionsOf returns the API versions that are known to have a kind.
func (c *Cluster) versionsOf(kind string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var versions []string
	for _, r := range c.resources {
		if r.Kind == kind {
			versions = append(versions, r.APIVersion())
		}
	}
	return versions
}

// look discovers the resources of some groups, or of all groups.
func (c *Cluster) look(ctx context.Context, groups ...string) error {
	found, err := c.client.Discover(ctx, groups...)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	// The list is new, because handles of objects have pointers into the old list.
	all := slices.Clone(found.Resources)
	for _, r := range c.resources {
		if !slices.ContainsFunc(all, func(o resources.Resource) bool { return o.Key() == r.Key() }) {
			all = append(all, r)
		}
	}
	c.resources = all
	return nil
}

// waitKind waits until a kind is served and its objects can be listed.
func (c *Cluster) waitKind(ctx context.Context, apiVersion, kind string) error {
	ticker := time.NewTicker(servedInterval)
	defer ticker.Stop()
	client := c.client.WithoutRetries()
	for {
		res, err := c.resourceOfKind(ctx, apiVersion, kind)
		if err == nil {
			if _, err = client.List(ctx, res, "", kube.ListOptions{Limit: 1}); err == nil {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		case <-ticker.C:
		}
	}
}

// selected returns the known resources that match a selector.
func (c *Cluster) selected(selector resources.Selector) []resources.Resource {
	c.mu.Lock()
	defer c.mu.Unlock()
	return selector.Select(c.resources)
}

// resourceOf returns a resource by any of its names.
func (c *Cluster) resourceOf(ctx context.Context, name string) (*resources.Resource, error) {
	selector, err := resources.ParseSelector(name)
	if err != nil {
		return nil, err
	}
	if !selector.Specific() {
		return nil, fmt.Errorf("%q is not one resource", name)
	}
	// A name with a group is unambiguous. If the resource is already known, the discovery is skipped, because it costs a
	// request and may not contain a new definition yet.
	selected := c.selected(selector)
	if len(selected) != 1 || !strings.Contains(name, ".") {
		if err := c.look(ctx); err != nil {
			return nil, err
		}
		selected = c.selected(selector)
	}
	switch len(selected) {
	case 0:
		return nil, fmt.Errorf("the cluster does not know %q: is its definition applied?", name)
	case 1:
		return &selected[0], nil
	default:
		keys := make([]string, len(selected))
		for i, r := range selected {
			keys[i] = r.Key()
		}
		return nil, fmt.Errorf("%q is ambiguous: it can be any of %v", name, keys)
	}
}
