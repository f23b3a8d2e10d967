package uninstall

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/admission"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// Target is an operator, described by the names of its leftovers in a cluster. Kinds of leftovers without a name are
// skipped.
type Target struct {
	// Finalizer is the operator's finalizer. Resources are the resources whose objects may have the finalizer.
	Finalizer string
	Resources []inspect.APIResource

	// Unknown are API groups whose resources could not be discovered, with the reasons. Their objects may have the
	// finalizer.
	Unknown map[string]error

	// Namespaces are the names or patterns of the namespaces that the operator serves. Without any, it serves the
	// whole cluster.
	Namespaces []string

	// Webhooks is the name of the webhook configurations. WebhookNames are the names of the operator's webhooks. A
	// configuration with none of these webhooks belongs to another operator.
	Webhooks     string
	WebhookNames []string

	// Election is the name of the lease by which a replica is elected. Shards is the name that the leases of shards
	// have in common. Both are in the LeaseNamespace.
	Election, Shards string
	LeaseNamespace   string

	// Peering is the name of the peering objects in the Namespaces, or of the peering object of the whole cluster.
	Peering string

	// Deployment is the name of the operator's Deployment, in the DeploymentNamespace. Its pods have records in the
	// peering objects. If it was deleted, pods of its ReplicaSets may remain.
	Deployment, DeploymentNamespace string
}

// Discovery has the resources that a cluster serves.
type Discovery struct {
	Resources []inspect.APIResource
	Failed    map[string]error // errors of API groups, by GROUP or GROUP/VERSION
}

// Discover returns the resources that a cluster serves. It is not an error if some API groups cannot be discovered,
// because their servers may be down.
func Discover(ctx context.Context, config *rest.Config) (Discovery, error) {
	session, err := kube.NewSession(config, 0)
	if err != nil {
		return Discovery{}, fmt.Errorf("connect to the cluster: %w", err)
	}
	defer session.Close()
	client := kube.NewClient(kube.Fixed(session), kube.ClientOptions{RequestTimeout: time.Minute, Backoffs: slices.Values(backoffs)})
	found, err := client.Discover(ctx)
	if err != nil {
		return Discovery{}, fmt.Errorf("discover the resources of the cluster: %w", err)
	}
	d := Discovery{Failed: found.Failed}
	for _, r := range found.Resources {
		d.Resources = append(d.Resources, inspect.APIResource{
			Group: r.Group, Version: r.Version, Plural: r.Plural, Kind: r.Kind, Singular: r.Singular, Shortcuts: r.Shortcuts,
			Categories: r.Categories, Subresources: r.Subresources, Verbs: r.Verbs, Namespaced: r.Namespaced, Preferred: r.Preferred,
		})
	}
	return d, nil
}

// NewTarget returns the target for an operator's description of itself, in a cluster.
func NewTarget(d inspect.Description, cluster Discovery) Target {
	t := Target{Finalizer: d.Finalizer, Namespaces: d.Namespaces, Webhooks: d.Webhooks, LeaseNamespace: d.Leases.Namespace, Peering: d.Peering}
	if d.Leases.Shards > 0 {
		t.Shards = d.Leases.Name
	} else {
		t.Election = d.Leases.Name
	}
	t.WebhookNames = webhookNames(d)
	t.Unknown = unknown(d, cluster.Failed)
	for _, r := range cluster.Resources {
		marked := func(p inspect.Permission) bool {
			return marks(p) && (p.Group == r.Group || p.Group == "*") && (p.Resource == r.Plural || p.Resource == "*")
		}
		same := func(o inspect.APIResource) bool { return o.Group == r.Group && o.Plural == r.Plural }
		if slices.ContainsFunc(d.Permissions, marked) && slices.Contains(r.Verbs, "list") && !slices.ContainsFunc(t.Resources, same) {
			t.Resources = append(t.Resources, r)
		}
	}
	return t
}

// webhookNames returns the names of the webhooks of an operator's admission handlers.
func webhookNames(d inspect.Description) []string {
	var reviewing []*handlers.Handler
	for _, h := range d.Handlers {
		if h.Kind == inspect.KindValidate || h.Kind == inspect.KindMutate {
			reviewing = append(reviewing, &handlers.Handler{ID: h.ID})
		}
	}
	var names []string
	for _, name := range admission.Names(reviewing) {
		names = append(names, name+"."+d.Webhooks)
	}
	return names
}

// unknown returns the undiscovered groups that may have resources of the operator, because a selector without a
// matching resource may select from them.
func unknown(d inspect.Description, failed map[string]error) map[string]error {
	unresolved := slices.ContainsFunc(d.Unserved, func(u inspect.Unserved) bool { return u.Reason == inspect.UnservedUnresolved })
	all := make(map[string]error)
	for name, err := range failed {
		group, _, _ := strings.Cut(name, "/")
		handled := func(p inspect.Permission) bool { return marks(p) && (p.Group == group || p.Group == "*") }
		if unresolved || slices.ContainsFunc(d.Permissions, handled) {
			all[name] = err
		}
	}
	return all
}

// marks reports whether a permission is for objects that may have the finalizer: those that the operator patches.
func marks(p inspect.Permission) bool {
	return p.Purpose == inspect.HandledObjects && slices.Contains(p.Verbs, "patch")
}

// places returns where the objects of a resource have to be listed, and whether those in a namespace are meant.
func (t *Target) places(namespaced bool) (namespaces []string, meant func(namespace string) bool) {
	everywhere := []string{""}
	if len(t.Namespaces) == 0 || !namespaced {
		return everywhere, func(string) bool { return true }
	}
	patterns := make([]resources.NamespacePattern, len(t.Namespaces))
	for i, text := range t.Namespaces {
		patterns[i] = resources.ParseNamespacePattern(text)
	}
	namespaces = resources.ExactNamespaces(patterns)
	if len(namespaces) < len(patterns) {
		namespaces = everywhere // a pattern needs all
	}
	return namespaces, func(namespace string) bool { return resources.MatchAnyNamespace(patterns, namespace) }
}
