package kopftest

import (
	"encoding/json"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/yaml"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

// An Object is an object of the cluster by its name, be it there or not. Its methods fail
// the test if something goes wrong.
type Object struct {
	Kind      string
	Namespace string // empty for cluster-scoped objects
	Name      string

	cluster  *Cluster
	resource resources.Resource
	version  string // that the test has written last
	created  bool   // by the test
}

// Object names an object: its resource by any name that kubectl takes, such as "pvc" or
// "kopfexamples.kopf.dev". A namespaced one is in the namespace of the test.
func (c *Cluster) Object(resource, name string) *Object {
	c.t.Helper()
	ctx, cancel := c.context()
	defer cancel()
	res, err := c.resourceOf(ctx, resource)
	if err != nil {
		c.t.Fatalf("kopftest: %v", err)
	}
	namespace := ""
	if res.Namespaced {
		namespace = c.Namespace
	}
	return c.handle(res, namespace, name)
}

// handle makes a handle, and remembers what the test had to do with.
func (c *Cluster) handle(res *resources.Resource, namespace, name string) *Object {
	o := &Object{Kind: res.Kind, Namespace: namespace, Name: name, cluster: c, resource: *res}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.handles = append(c.handles, o)
	return o
}

// String is the kind and the name.
func (o *Object) String() string { return o.Kind + " " + o.Name }

// Get returns the object as it is now. It must be there.
func (o *Object) Get() *kopf.Object {
	o.cluster.t.Helper()
	ctx, cancel := o.cluster.context()
	defer cancel()
	object, err := o.cluster.client.Get(ctx, &o.resource, o.Namespace, o.Name)
	if err != nil {
		o.cluster.t.Fatalf("kopftest: %s: %v", o, err)
	}
	return o.cluster.view(object)
}

// Exists tells whether the object is there.
func (o *Object) Exists() bool {
	o.cluster.t.Helper()
	ctx, cancel := o.cluster.context()
	defer cancel()
	_, err := o.cluster.client.Get(ctx, &o.resource, o.Namespace, o.Name)
	if err != nil && !apierrors.IsNotFound(err) {
		o.cluster.t.Fatalf("kopftest: %s: %v", o, err)
	}
	return err == nil
}

// Set changes the value at a path, such as "spec.size". A change in the status goes to
// the subresource if there is one.
func (o *Object) Set(path string, value any) {
	o.cluster.t.Helper()
	plain, err := object.Normalize(value)
	if err != nil {
		o.cluster.t.Fatalf("kopftest: %s: %s: %v", o, path, err)
	}
	where, err := object.ParsePath(path)
	if err != nil || len(where) == 0 {
		o.cluster.t.Fatalf("kopftest: %s: the path %q: %v", o, path, err)
	}
	p := patch.NewPatch()
	p.Set(where, plain)
	o.patch(p.Tree(), where[0])
}

// Remove removes the value at a path.
func (o *Object) Remove(path string) {
	o.cluster.t.Helper()
	o.Set(path, nil)
}

// Label sets a label.
func (o *Object) Label(name, value string) {
	o.cluster.t.Helper()
	o.patch(metadataOf("labels", name, value), "metadata")
}

// Unlabel removes a label.
func (o *Object) Unlabel(name string) {
	o.cluster.t.Helper()
	o.patch(metadataOf("labels", name, nil), "metadata")
}

// Annotate sets an annotation.
func (o *Object) Annotate(name, value string) {
	o.cluster.t.Helper()
	o.patch(metadataOf("annotations", name, value), "metadata")
}

func metadataOf(stanza, name string, value any) map[string]any {
	return map[string]any{"metadata": map[string]any{stanza: map[string]any{name: value}}}
}

func (o *Object) patch(changes map[string]any, stanza string) {
	o.cluster.t.Helper()
	subresource := ""
	if stanza == "status" && o.resource.HasSubresource("status") {
		subresource = "status"
	}
	body, err := json.Marshal(changes)
	if err != nil {
		o.cluster.t.Fatalf("kopftest: %s: %v", o, err)
	}
	ctx, cancel := o.cluster.context()
	defer cancel()
	patched, err := o.cluster.client.Patch(ctx, &o.resource, o.Namespace, o.Name, subresource, kube.MergePatch, body)
	if err != nil {
		o.cluster.t.Fatalf("kopftest: %s: %v", o, err)
	}
	o.version = patched.ResourceVersion
}

// Delete begins the deletion of the object; [Object.WaitGone] waits for its end. What
// depends on the object is deleted in the background.
func (o *Object) Delete() {
	o.cluster.t.Helper()
	ctx, cancel := o.cluster.context()
	defer cancel()
	if err := o.cluster.delete(ctx, &o.resource, o.Namespace, o.Name); err != nil {
		o.cluster.t.Fatalf("kopftest: deleting %s: %v", o, err)
	}
}

// view makes an untyped object of what the cluster has sent.
func (c *Cluster) view(object *object.Object) *kopf.Object {
	c.t.Helper()
	view := new(kopf.Object)
	if err := view.UnmarshalJSON(object.Raw); err != nil {
		c.t.Fatalf("kopftest: %s: %v", object, err)
	}
	return view
}

// yamlOf returns an object as it is now, for messages.
func (c *Cluster) yamlOf(res *resources.Resource, namespace, name string) string {
	ctx, cancel := c.reporting()
	defer cancel()
	object, err := c.client.WithoutRetries().Get(ctx, res, namespace, name)
	if apierrors.IsNotFound(err) {
		return "it does not exist; " + c.namesakes(ctx, res, namespace)
	}
	if err != nil {
		return err.Error()
	}
	text, err := yaml.JSONToYAML(object.Raw)
	if err != nil {
		return string(object.Raw)
	}
	return string(text)
}
