package uninstall

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// remain is something that an operator has left besides its finalizers.
type remain struct {
	name   string
	what   string // more about it; may be empty
	inUse  error  // wraps ErrInUse; nil if it is unused
	delete func(context.Context) error
}

// String returns the object as kubectl names it, and what there is in it.
func (o remain) String() string {
	if o.what == "" {
		return o.name
	}
	return o.name + ": " + o.what
}

// remove removes the object, unless the operator uses it. A deleted object counts as a success.
func (o remain) remove(ctx context.Context) error {
	if o.inUse != nil {
		return o.inUse
	}
	return o.delete(ctx)
}

var (
	webhookResources = []resources.Resource{
		{Group: "admissionregistration.k8s.io", Version: "v1", Plural: "validatingwebhookconfigurations", Kind: "ValidatingWebhookConfiguration"},
		{Group: "admissionregistration.k8s.io", Version: "v1", Plural: "mutatingwebhookconfigurations", Kind: "MutatingWebhookConfiguration"},
	}
	leaseResource = resources.Resource{Group: "coordination.k8s.io", Version: "v1", Plural: "leases", Kind: "Lease", Namespaced: true}
)

// shardsLabel is on the leases of shards, with the name that the replicas have in common.
const shardsLabel = "kopf.dev/shards"

// webhooks returns the webhook configurations.
func (r *remover) webhooks(ctx context.Context) ([]remain, error) {
	if r.target.Webhooks == "" {
		return nil, nil
	}
	var all []remain
	var errs []error
	for i := range webhookResources {
		res := &webhookResources[i]
		found, err := r.get(ctx, res, "", r.target.Webhooks)
		if err != nil {
			errs = append(errs, err)
		}
		if found == nil {
			continue
		}
		var content struct{ Webhooks []struct{ Name string } }
		if err := json.Unmarshal(found.Raw, &content); err != nil {
			errs = append(errs, fmt.Errorf("read %s %s: %w", res.Plural, found.Name, err))
			continue
		}
		ours := func(w struct{ Name string }) bool { return slices.Contains(r.target.WebhookNames, w.Name) }
		if len(content.Webhooks) > 0 && !slices.ContainsFunc(content.Webhooks, ours) {
			r.note("%s/%s stays: its webhook %s belongs to no handler of this operator; name the right configurations with --webhook-managed",
				res.Plural, found.Name, content.Webhooks[0].Name)
			continue
		}
		one := r.remain(res, found)
		one.what = count(len(content.Webhooks), "webhook")
		all = append(all, one)
	}
	return all, errors.Join(errs...)
}

// remain returns the remain for an object.
func (r *remover) remain(res *resources.Resource, o *object.Object) remain {
	name := res.GVR().GroupResource().String() + "/" + o.Name
	if o.Namespace != "" {
		name += " in " + o.Namespace
	}
	return remain{name: name, delete: func(ctx context.Context) error { return r.delete(ctx, res, o) }}
}

// leases returns the leases of the replicas.
func (r *remover) leases(ctx context.Context) ([]remain, error) {
	var found []*object.Object
	if r.target.Election != "" {
		elected, err := r.get(ctx, &leaseResource, r.target.LeaseNamespace, r.target.Election)
		if err != nil {
			return nil, err
		}
		if elected != nil {
			found = append(found, elected)
		}
	}
	if r.target.Shards != "" {
		list, err := r.kube.List(ctx, &leaseResource, r.target.LeaseNamespace, kube.ListOptions{LabelSelector: shardsLabel + "=" + r.target.Shards})
		if err != nil {
			return nil, err
		}
		found = append(found, list.Items...)
	}
	all := make([]remain, len(found))
	for i, lease := range found {
		all[i] = r.remain(&leaseResource, lease)
		holder, err := r.holder(lease)
		if err != nil {
			return nil, err
		}
		if holder != "" {
			all[i].inUse = fmt.Errorf("%w: %s holds it", ErrInUse, holder)
		}
	}
	return all, nil
}

// holder returns who holds a lease; empty if it has expired or was released.
func (r *remover) holder(lease *object.Object) (string, error) {
	var content struct {
		Spec struct {
			HolderIdentity       string
			RenewTime            string
			LeaseDurationSeconds int
		}
	}
	if err := json.Unmarshal(lease.Raw, &content); err != nil {
		return "", fmt.Errorf("read the lease %s: %w", lease.Name, err)
	}
	spec := content.Spec
	renewed, err := time.Parse(time.RFC3339, spec.RenewTime)
	if err != nil || r.now().After(renewed.Add(time.Duration(spec.LeaseDurationSeconds)*time.Second)) {
		return "", nil // a lease that was never renewed has no holder
	}
	return spec.HolderIdentity, nil
}

// get returns an object; nil if there is none.
func (r *remover) get(ctx context.Context, res *resources.Resource, namespace, name string) (*object.Object, error) {
	found, err := r.kube.Get(ctx, res, namespace, name)
	if kube.Classify(err) == kube.NotFound {
		return nil, nil
	}
	return found, err
}

// delete deletes an object if it still has this version: a changed one is in use again.
func (r *remover) delete(ctx context.Context, res *resources.Resource, o *object.Object) error {
	path, err := res.Path(o.Namespace, o.Name, "", nil)
	if err != nil {
		return err
	}
	body, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": map[string]any{"uid": o.UID, "resourceVersion": o.ResourceVersion},
	})
	if err != nil {
		return err
	}
	_, err = r.kube.Do(ctx, kube.Request{Method: http.MethodDelete, Path: path, ContentType: "application/json", Body: body, Resource: res})
	switch kube.Classify(err) {
	case kube.NotFound:
		return nil
	case kube.Conflict:
		return fmt.Errorf("%w: it has just been changed", ErrInUse)
	}
	return err
}

// count returns "1 webhook" or "2 webhooks".
func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}
