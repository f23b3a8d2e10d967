package uninstall

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/sdk/peering"
	"github.com/kopf-dev/kopf/sdk/printable"
)

// Traces are the names under which an operator leaves something besides its finalizers. What has no name is not
// looked for.
type Traces struct {
	// Webhooks is the name of the webhook configurations.
	Webhooks string

	// Lease is the name that the replicas have in common, in the LeaseNamespace.
	Lease, LeaseNamespace string

	// Peering is the name of the peering objects: those in the Namespaces, or that of the whole cluster.
	Peering    string
	Namespaces []string

	// Deployment is the name of the Deployment, whose pods have records in the peering objects.
	Deployment string
}

// ErrInUse is in the errors about what an operator uses that still runs.
var ErrInUse = errors.New("the operator still runs; stop it first")

var (
	webhookResources = []schema.GroupVersionResource{
		{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations"},
		{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingwebhookconfigurations"},
	}
	leaseResource = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}
)

// shardsLabel is on the leases of shards, with the name that the replicas have in common.
const shardsLabel = "kopf.dev/shards"

// Remains finds and removes what an operator has left besides its finalizers.
type Remains struct {
	client  dynamic.Interface
	peering *peering.Client
	traces  Traces
	pod     *regexp.Regexp // matches the identities of the pods
	pause   time.Duration
	now     func() time.Time
}

// NewRemains returns what finds and removes the remains with some names. Close it when it is not needed anymore.
func NewRemains(config *rest.Config, traces Traces) (*Remains, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1 // the server limits the requests
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", printable.Error(err))
	}
	peers, err := peering.NewClient(config)
	if err != nil {
		return nil, printable.Error(err)
	}
	return &Remains{
		client: client, peering: peers, traces: traces, pause: firstPause, now: time.Now,
		pod: regexp.MustCompile("^" + regexp.QuoteMeta(traces.Deployment) + "-[a-z0-9]{1,10}-[a-z0-9]{5}$"),
	}, nil
}

// Close closes the connections.
func (r *Remains) Close() { r.peering.Close() }

// Remain is something that an operator has left.
type Remain struct {
	name   string
	what   string // more about it; may be empty
	inUse  string // who uses it; empty if it is unused
	remove func(context.Context) error
}

// String returns the object as kubectl names it, and what there is in it.
func (r Remain) String() string {
	if r.what == "" {
		return r.name
	}
	return r.name + ": " + r.what
}

// InUse returns an error that wraps [ErrInUse] if the operator still runs.
func (r Remain) InUse() error {
	if r.inUse == "" {
		return nil
	}
	return fmt.Errorf("%w: %s holds it", ErrInUse, r.inUse)
}

// Remove removes it. What is gone already is a success. It fails if the operator still runs.
func (r Remain) Remove(ctx context.Context) error {
	if err := r.InUse(); err != nil {
		return err
	}
	return printable.Error(r.remove(ctx))
}

// Webhooks returns the webhook configurations. They should be removed before anything else: as long as the API
// server calls webhooks that no operator answers, it may refuse all changes of the handled objects.
func (r *Remains) Webhooks(ctx context.Context) ([]Remain, error) {
	if r.traces.Webhooks == "" {
		return nil, nil
	}
	var all []Remain
	for _, resource := range webhookResources {
		found, err := r.get(ctx, resource, "", r.traces.Webhooks)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", resource.Resource, printable.Error(err))
		}
		if found == nil {
			continue
		}
		webhooks, _, err := unstructured.NestedSlice(found.Object, "webhooks")
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", resource.Resource, printable.Error(err))
		}
		all = append(all, Remain{
			name: resource.GroupResource().String() + "/" + found.GetName(), what: count(len(webhooks), "webhook"),
			remove: func(ctx context.Context) error { return r.delete(ctx, resource, found) },
		})
	}
	return all, nil
}

// Leases returns the leases of the replicas.
func (r *Remains) Leases(ctx context.Context) ([]Remain, error) {
	if r.traces.Lease == "" {
		return nil, nil
	}
	var found []unstructured.Unstructured
	elected, err := r.get(ctx, leaseResource, r.traces.LeaseNamespace, r.traces.Lease)
	if err != nil {
		return nil, fmt.Errorf("read leases: %w", printable.Error(err))
	}
	if elected != nil {
		found = append(found, *elected)
	}
	err = r.retry(ctx, func() error {
		shards, err := r.client.Resource(leaseResource).Namespace(r.traces.LeaseNamespace).List(ctx, metav1.ListOptions{LabelSelector: shardsLabel + "=" + r.traces.Lease})
		if err == nil {
			found = append(found, shards.Items...)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list leases: %w", printable.Error(err))
	}
	all := make([]Remain, len(found))
	for i := range found {
		lease := &found[i]
		all[i] = Remain{
			name: leaseResource.GroupResource().String() + "/" + lease.GetName() + " in " + lease.GetNamespace(), inUse: r.holder(lease),
			remove: func(ctx context.Context) error { return r.delete(ctx, leaseResource, lease) },
		}
	}
	return all, nil
}

// holder returns who holds a lease; empty if it has expired or was released.
func (r *Remains) holder(lease *unstructured.Unstructured) string {
	holder, _, _ := unstructured.NestedString(lease.Object, "spec", "holderIdentity")
	text, _, _ := unstructured.NestedString(lease.Object, "spec", "renewTime")
	seconds, _, _ := unstructured.NestedInt64(lease.Object, "spec", "leaseDurationSeconds")
	renewed, err := time.Parse(time.RFC3339, text)
	if err != nil || r.now().After(renewed.Add(time.Duration(seconds)*time.Second)) {
		return ""
	}
	return holder
}

// Peers returns the records in the peering objects that are of the replicas, or of pods of the Deployment.
func (r *Remains) Peers(ctx context.Context) ([]Remain, error) {
	if r.traces.Peering == "" {
		return nil, nil
	}
	objects, err := r.peering.Find(ctx, peering.Scope{Name: r.traces.Peering, Namespaces: r.traces.Namespaces})
	if errors.Is(err, peering.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the peering: %w", printable.Error(err))
	}
	var all []Remain
	for _, object := range objects {
		for _, peer := range object.Peers {
			if !r.isOurs(peer.Identity) {
				continue
			}
			all = append(all, Remain{
				name: object.String(), what: "the record of " + peer.Identity,
				remove: func(ctx context.Context) error {
					return r.peering.Write(ctx, object, &peering.Peer{Identity: peer.Identity})
				},
			})
		}
	}
	return all, nil
}

// isOurs reports whether an identity is that of the operator.
func (r *Remains) isOurs(identity string) bool {
	return r.traces.Lease != "" && identity == r.traces.Lease || r.traces.Deployment != "" && r.pod.MatchString(identity)
}

// get returns an object; nil if there is none.
func (r *Remains) get(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) (found *unstructured.Unstructured, err error) {
	err = r.retry(ctx, func() error {
		found, err = r.client.Resource(resource).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
		return err
	})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return found, err
}

// delete deletes an object if it still has this version: a changed one is in use again.
func (r *Remains) delete(ctx context.Context, resource schema.GroupVersionResource, o *unstructured.Unstructured) error {
	uid, version := o.GetUID(), o.GetResourceVersion()
	err := r.retry(ctx, func() error {
		return r.client.Resource(resource).Namespace(o.GetNamespace()).Delete(ctx, o.GetName(), metav1.DeleteOptions{
			Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &version},
		})
	})
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case apierrors.IsConflict(err):
		return fmt.Errorf("%w: it has just been changed", ErrInUse)
	}
	return err
}

// retry calls a function again while its errors are transient.
func (r *Remains) retry(ctx context.Context, do func() error) error {
	for attempt := 1; ; attempt++ {
		err := do()
		if err == nil || !transient(err) || attempt == attempts {
			return err
		}
		if err := wait(ctx, r.pause<<(attempt-1)); err != nil {
			return err
		}
	}
}

// count returns "1 webhook" or "2 webhooks".
func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}
