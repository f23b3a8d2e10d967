package peering

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// ErrNotFound is wrapped by the errors of [Client.Find] if no peering object exists. Operators without a peering object
// ignore each other, and cannot be paused.
var ErrNotFound = errors.New("no peering object")

// Client reads and writes peering objects, for tools. It is safe for concurrent use.
type Client struct {
	session *kube.Session
	kube    *kube.Client
}

// NewClient returns a client for a cluster. Close it after use.
func NewClient(config *rest.Config) (*Client, error) {
	session, err := kube.NewSession(config, 0)
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	return &Client{session: session, kube: kube.NewClient(kube.Fixed(session), kube.ClientOptions{
		RequestTimeout: 30 * time.Second,
		Backoffs:       slices.Values([]time.Duration{time.Second, time.Second}),
	})}, nil
}

// Close closes the connections.
func (c *Client) Close() { c.session.Close() }

// Scope selects peering objects.
type Scope struct {
	// Name selects peering objects by name. If it is empty, the scope has objects of all names.
	Name string

	// Namespaces selects the KopfPeering objects in namespaces, by names or patterns such as "app-*,!*-test". If it is
	// empty, the scope has the ClusterKopfPeering objects, which operators of the whole cluster use.
	Namespaces []string

	// All selects the objects of both kinds in all namespaces. It cannot be combined with Namespaces.
	All bool
}

// Object is a peering object.
type Object struct {
	Kind      string // [NamespacedKind] or [ClusterWideKind]
	Group     string // "kopf.dev"; "zalando.org" for operators from before 2021
	Namespace string
	Name      string
	Peers     []Peer // sorted by identity, including expired records

	resource *resources.Resource
}

// String names the object: "KopfPeering default in app".
func (o *Object) String() string {
	return (&inspect.Peering{Kind: o.Kind, Group: o.Group, Namespace: o.Namespace, Name: o.Name}).String()
}

// Peer returns the record of an identity; nil if the object has no such record.
func (o *Object) Peer(identity string) *Peer {
	i := slices.IndexFunc(o.Peers, func(p Peer) bool { return p.Identity == identity })
	if i < 0 {
		return nil
	}
	return &o.Peers[i]
}

// Find returns the peering objects of a scope, sorted by namespace and name. If none exist, the error wraps [ErrNotFound].
func (c *Client) Find(ctx context.Context, scope Scope) ([]*Object, error) {
	discovered, err := c.kube.Discover(ctx, "kopf.dev", "zalando.org")
	if err != nil {
		return nil, fmt.Errorf("discover the resources of peering: %w", err)
	}
	namespaced := len(scope.Namespaces) > 0
	kinds := []bool{namespaced}
	if scope.All {
		kinds = []bool{false, true}
	}
	var all []*Object
	known := false
	for _, namespaced := range kinds {
		for _, res := range resources.Peerings(discovered.Resources, namespaced) {
			known = true
			found, err := c.find(ctx, res, scope)
			if err != nil {
				return nil, err
			}
			all = append(all, found...)
		}
	}
	switch {
	case !known:
		return nil, fmt.Errorf("%w: %s", ErrNotFound, missingKind(Kind(namespaced)))
	case len(all) == 0:
		return nil, fmt.Errorf("%w: there is no %s; create it, and the operators will use it: %s", ErrNotFound, scope.missing(namespaced), scope.create())
	}
	return all, nil
}

// missing returns the name of the scope's objects, for the error if none exist.
func (s *Scope) missing(namespaced bool) string {
	text := Kind(namespaced)
	if s.All {
		text = ClusterWideKind + " or " + NamespacedKind
	}
	if s.Name != "" {
		text += " " + s.Name
	}
	if namespaced {
		text += " in " + strings.Join(s.Namespaces, ", ")
	}
	return text
}

// create returns the command that creates the missing object of the scope.
func (s *Scope) create() string {
	namespace := ""
	if len(s.Namespaces) == 1 {
		namespace = s.Namespaces[0]
	}
	return createObject(namespace, s.Name)
}

func (c *Client) find(ctx context.Context, res *resources.Resource, scope Scope) ([]*Object, error) {
	patterns := make([]resources.NamespacePattern, len(scope.Namespaces))
	for i, text := range scope.Namespaces {
		patterns[i] = resources.ParseNamespacePattern(text)
	}
	names := resources.ExactNamespaces(patterns)
	if len(names) < len(patterns) || len(names) == 0 {
		names = []string{""} // lists the whole cluster, because a pattern can match any namespace
	}
	var all []*Object
	for _, namespace := range names {
		items, err := c.list(ctx, res, namespace, scope.Name)
		if err != nil {
			return nil, fmt.Errorf("read the %s objects: %w", res.Kind, err)
		}
		for _, item := range items {
			if scope.Name != "" && item.Name != scope.Name || len(patterns) > 0 && !resources.MatchAnyNamespace(patterns, item.Namespace) {
				continue
			}
			one := &Object{Kind: Kind(res.Namespaced), Group: res.Group, resource: res}
			if err := one.set(item); err != nil {
				return nil, err
			}
			all = append(all, one)
		}
	}
	slices.SortFunc(all, func(a, b *Object) int {
		return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
	})
	return all, nil
}

// list returns the objects of a namespace. If the object's name and namespace are known, it reads only this object, which
// needs no permission to list.
func (c *Client) list(ctx context.Context, res *resources.Resource, namespace, name string) ([]*object.Object, error) {
	if name == "" || res.Namespaced && namespace == "" {
		list, err := c.kube.List(ctx, res, namespace, kube.ListOptions{})
		if err != nil {
			return nil, err
		}
		return list.Items, nil
	}
	one, err := c.kube.Get(ctx, res, namespace, name)
	if kube.Classify(err) == kube.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return []*object.Object{one}, nil
}

func (o *Object) set(item *object.Object) error {
	tree, err := item.Tree()
	if err != nil {
		return err
	}
	status, _ := tree["status"].(map[string]any)
	o.Namespace, o.Name, o.Peers = item.Namespace, item.Name, ParsePeers(status, time.Now())
	return nil
}

// Write writes the record of a peer into the object in the cluster. If the peer has no lifetime, it removes the record.
// Afterwards, the Object has the server's current version.
func (c *Client) Write(ctx context.Context, o *Object, peer *Peer) error {
	var record any // null removes the record
	if r := peer.Record(); r != nil {
		record = r
	}
	body, err := json.Marshal(map[string]any{"status": map[string]any{peer.Identity: record}})
	if err != nil {
		return err
	}
	subresource := ""
	if o.resource.HasSubresource("status") {
		subresource = "status"
	}
	item, err := c.kube.Patch(ctx, o.resource, o.Namespace, o.Name, subresource, patch.MergeType, body)
	if err != nil {
		return fmt.Errorf("write into %s: %w", o, Missing(err, o.Kind, o.Namespace, o.Name))
	}
	return o.set(item)
}

// Refresh reads the object again.
func (c *Client) Refresh(ctx context.Context, o *Object) error {
	item, err := c.kube.Get(ctx, o.resource, o.Namespace, o.Name)
	if err != nil {
		return fmt.Errorf("read %s: %w", o, Missing(err, o.Kind, o.Namespace, o.Name))
	}
	return o.set(item)
}
