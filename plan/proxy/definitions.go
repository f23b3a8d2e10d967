package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kopf-dev/kopf/plan/copy"
)

// services is the resource APIService. Some API services are served by extension API servers.
var services = schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}

// policies are the resources whose objects can reject or change requests for other resources. They are loaded before the first answer,
// because the control plane notices new policies only once a second.
var policies = []schema.GroupVersionResource{
	{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicies"},
	{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicybindings"},
	{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingadmissionpolicies"},
	{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingadmissionpolicybindings"},
	{Version: "v1", Resource: "limitranges"},
}

// definitions are the custom resources of the cluster, and the API groups of extension API servers.
type definitions struct {
	loader *loader
	turn   chan struct{} // lock: has an element while no request loads the definitions
	loaded bool

	// The following fields are set before loaded becomes true.
	extended  map[schema.GroupVersion]bool  // groups of extension API servers
	converted map[schema.GroupResource]bool // resources that webhooks convert

	mu       sync.Mutex
	versions map[schema.GroupResource]string // version of the first request for each resource
}

// definition has the fields of a custom resource definition that the proxy needs.
type definition struct {
	Spec struct {
		Group string
		Names struct{ Plural string }
		// Conversion converts objects between the versions.
		Conversion struct{ Strategy string }
		Versions   []struct {
			Name   string
			Served bool
		}
	}
	Status struct {
		Conditions []metav1.Condition
	}
}

func (d *definition) established() bool {
	for _, c := range d.Status.Conditions {
		if c.Type == "Established" {
			return c.Status == metav1.ConditionTrue
		}
	}
	return false
}

// ensure loads the definitions and the policies if no earlier call has loaded them.
func (d *definitions) ensure(ctx context.Context) error {
	select {
	case <-d.turn:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { d.turn <- struct{}{} }()
	if d.loaded {
		return nil
	}
	if err := d.load(ctx); err != nil {
		return fmt.Errorf("load the definitions of resources: %w", err)
	}
	if err := d.findServices(ctx); err != nil {
		return fmt.Errorf("find the extension API servers: %w", err)
	}
	for _, policy := range policies {
		refused, err := d.loader.scope(ctx, copy.Scope{Resource: policy})
		if err != nil {
			return err
		}
		if refused != nil && refused.Code != http.StatusNotFound { // older clusters do not serve all policies
			d.loader.note(policy, "", refused.Message)
		}
	}
	d.loaded = true
	return nil
}

// load loads the definitions, and waits until their resources are served.
func (d *definitions) load(ctx context.Context) error {
	listing, err := d.loader.options.Copy.Listing(ctx, copy.Scope{Resource: copy.Definitions})
	if err != nil {
		return err
	}
	state := d.loader.resource(copy.Definitions.GroupResource())
	state.scopes[listing.Scope] = listing.Refused
	if listing.Refused != nil {
		d.loader.note(copy.Definitions, "", listing.Refused.Message)
		return nil
	}
	d.converted = map[schema.GroupResource]bool{}
	var objects []json.RawMessage
	var wanted []schema.GroupVersionResource
	for _, o := range listing.Objects {
		raw, own, err := withoutConversion(o.JSON)
		if err != nil {
			return fmt.Errorf("the definition %s: %w", o.Name, err)
		}
		gr := schema.GroupResource{Group: own.Spec.Group, Resource: own.Spec.Names.Plural}
		d.converted[gr] = own.Spec.Conversion.Strategy == "Webhook"
		for _, version := range own.Spec.Versions {
			if version.Served && own.established() {
				wanted = append(wanted, gr.WithVersion(version.Name))
			}
		}
		state.loaded[[2]string{"", o.Name}] = true
		objects = append(objects, raw)
	}
	if len(objects) == 0 {
		return nil
	}
	if err := d.loader.options.Load(ctx, copy.Definitions.GroupResource(), objects); err != nil {
		return err
	}
	return d.await(ctx, wanted)
}

// await waits until resources are served. It notes resources that the control plane does not serve in time.
func (d *definitions) await(ctx context.Context, wanted []schema.GroupVersionResource) error {
	var missing []schema.GroupVersionResource
	err := poll(ctx, func(ctx context.Context) (bool, error) {
		served, err := d.loader.control.served(ctx)
		if err != nil {
			return false, err
		}
		missing = missing[:0]
		for _, r := range wanted {
			if !served[r] {
				missing = append(missing, r)
			}
		}
		return len(missing) == 0, nil
	})
	if errors.Is(err, errSlow) {
		for _, r := range missing {
			d.loader.note(r, "", "the copy does not serve it")
		}
		return nil
	}
	return err
}

// withoutConversion returns a definition without its conversion webhook, because the control plane cannot call webhooks of the cluster.
func withoutConversion(raw json.RawMessage) (json.RawMessage, *definition, error) {
	own := &definition{}
	if err := json.Unmarshal(raw, own); err != nil {
		return nil, nil, err
	}
	if own.Spec.Conversion.Strategy != "Webhook" {
		return raw, own, nil
	}
	tree, err := decode(raw)
	if err != nil {
		return nil, nil, err
	}
	spec, _ := tree["spec"].(map[string]any)
	spec["conversion"] = map[string]any{"strategy": "None"}
	raw, err = json.Marshal(tree)
	return raw, own, err
}

// findServices finds the groups that other servers serve, whose resources are not in the copy.
func (d *definitions) findServices(ctx context.Context) error {
	listing, err := d.loader.options.Copy.Listing(ctx, copy.Scope{Resource: services})
	if err != nil {
		return err
	}
	if listing.Refused != nil {
		d.loader.note(services, "", listing.Refused.Message)
	}
	d.extended = map[schema.GroupVersion]bool{}
	for _, o := range listing.Objects {
		var own struct {
			Spec struct {
				Group, Version string
				Service        *struct{}
			}
		}
		if err := json.Unmarshal(o.JSON, &own); err != nil {
			return fmt.Errorf("the API service %s: %w", o.Name, err)
		}
		if own.Spec.Service != nil {
			d.extended[schema.GroupVersion{Group: own.Spec.Group, Version: own.Spec.Version}] = true
		}
	}
	return nil
}

// version returns the version in which the objects of a resource are loaded: the version of the first request. The control plane
// serves them in other versions, too.
func (d *definitions) version(r schema.GroupVersionResource) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	version, known := d.versions[r.GroupResource()]
	if !known {
		version = r.Version
		d.versions[r.GroupResource()] = version
	}
	return version
}

// refusal returns the answer to requests for resources that cannot be copied, or nil.
func (d *definitions) refusal(r schema.GroupVersionResource) *metav1.Status {
	if d.extended[r.GroupVersion()] {
		return forbidden(r, "an extension API server serves it, and the copy has none")
	}
	if version := d.version(r); d.converted[r.GroupResource()] && version != r.Version {
		return forbidden(r, fmt.Sprintf("a webhook converts it, and the copy does not call webhooks; the operator also uses the version %s", version))
	}
	return nil
}

func forbidden(r schema.GroupVersionResource, reason string) *metav1.Status {
	return &metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure,
		Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden,
		Message: fmt.Sprintf("%s is forbidden in a plan: %s", r.GroupResource(), reason),
		Details: &metav1.StatusDetails{Group: r.Group, Kind: r.Resource},
	}
}
