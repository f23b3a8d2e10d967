package kopftest

import (
	"encoding/json"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/yaml"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

// An Object is a handle of an object in the cluster by its name. The object need not exist. The methods fail the test on
// errors, so they must be called from the test's own goroutine.
type Object struct {
	Kind      string
	Namespace string // empty for cluster-scoped objects
	Name      string

	cluster  *Cluster
	resource resources.Resource
	version  string // version of the test's last write
	created  bool   // created by the test
}

// Object returns the handle of an object, which need not exist. The resource is any name that kubectl accepts, such as
// "pvc" or "kopfexamples.kopf.dev". A namespaced object is in the namespace of the test.
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

// Create creates an object from YAML, or from a value that encodes as JSON, such as a struct or a map. It fails the test if
// the object already exists. A namespaced object without a namespace is created in the test's namespace.
func (c *Cluster) Create(object any) *Object {
	c.t.Helper()
	m := manifest{tree: treeOf(c.t, object)}
	ctx, cancel := c.context()
	defer cancel()
	res, err := c.resourceOfKind(ctx, m.text("apiVersion"), m.text("kind"))
	if err != nil {
		c.t.Fatalf("kopftest: create %s %s: %v", m.text("kind"), m.text("metadata", "name"), err)
	}
	body, err := json.Marshal(m.tree)
	if err != nil {
		c.t.Fatalf("kopftest: create %s %s: %v", res.Kind, m.text("metadata", "name"), err)
	}
	namespace := c.namespaceOf(res, m)
	made, err := c.client.Post(ctx, res, namespace, body)
	if err != nil {
		c.t.Fatalf("kopftest: create %s %s: %v", res.Kind, m.text("metadata", "name"), err)
	}
	o := c.handle(res, namespace, made.Name)
	o.version, o.created = made.ResourceVersion, true
	return o
}

// namespaceOf returns the namespace of an object: the test's namespace if the object has none, and empty for cluster-scoped
// objects.
func (c *Cluster) namespaceOf(res *resources.Resource, m manifest) string {
	if !res.Namespaced {
		return ""
	}
	if namespace := m.text("metadata", "namespace"); namespace != "" {
		return namespace
	}
	return c.Namespace
}

// handle returns a handle, and records it for the cleanup.
func (c *Cluster) handle(res *resources.Resource, namespace, name string) *Object {
	o := &Object{Kind: res.Kind, Namespace: namespace, Name: name, cluster: c, resource: *res}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.handles = append(c.handles, o)
	return o
}

// T returns the test, as [Cluster.T] does.
func (o *Object) T() testing.TB { return o.cluster.t }

// String returns the kind and the name.
func (o *Object) String() string { return o.Kind + " " + o.Name }

// Get returns the current state of the object. It fails the test if the object does not exist.
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

// Exists reports whether the object exists.
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

// Set changes the value at a path, such as "spec.size". A change of the status goes to the status subresource if the
// resource has one.
func (o *Object) Set(path kopf.Path, value any) {
	o.cluster.t.Helper()
	plain, err := object.Normalize(value)
	if err != nil {
		o.cluster.t.Fatalf("kopftest: %s: %s: %v", o, path, err)
	}
	where, err := object.ParsePath(string(path))
	if err == nil {
		err = where.CheckKeys()
	}
	if err != nil || len(where) == 0 {
		o.cluster.t.Fatalf("kopftest: %s: the path %q: %v", o, path, err)
	}
	p := patch.NewPatch()
	p.Set(where, plain)
	o.Patch(p.Tree())
}

// Patch changes several fields at once. The changes are a merge patch, in YAML or as a value that encodes as JSON; null
// removes a field. A change of the status goes to the status subresource if the resource has one.
func (o *Object) Patch(changes any) {
	o.cluster.t.Helper()
	rest := treeOf(o.cluster.t, changes)
	if status, ok := rest["status"]; ok && o.resource.HasSubresource("status") {
		delete(rest, "status")
		if len(rest) > 0 {
			o.patch(rest, "")
		}
		o.patch(map[string]any{"status": status}, "status")
		return
	}
	o.patch(rest, "")
}

// Remove removes the value at a path.
func (o *Object) Remove(path kopf.Path) {
	o.cluster.t.Helper()
	o.Set(path, nil)
}

// Label sets a label.
func (o *Object) Label(name, value string) {
	o.cluster.t.Helper()
	o.patch(metadataOf("labels", name, value), "")
}

// Unlabel removes a label.
func (o *Object) Unlabel(name string) {
	o.cluster.t.Helper()
	o.patch(metadataOf("labels", name, nil), "")
}

// Annotate sets an annotation.
func (o *Object) Annotate(name, value string) {
	o.cluster.t.Helper()
	o.patch(metadataOf("annotations", name, value), "")
}

func metadataOf(stanza, name string, value any) map[string]any {
	return map[string]any{"metadata": map[string]any{stanza: map[string]any{name: value}}}
}

func (o *Object) patch(changes map[string]any, subresource string) {
	o.cluster.t.Helper()
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

// Delete starts the deletion of the object; [Object.WaitGone] waits for its end. Dependents are
// deleted in the background.
func (o *Object) Delete() {
	o.cluster.t.Helper()
	ctx, cancel := o.cluster.context()
	defer cancel()
	if err := o.cluster.delete(ctx, &o.resource, o.Namespace, o.Name); err != nil {
		o.cluster.t.Fatalf("kopftest: deleting %s: %v", o, err)
	}
}

// view makes an untyped object from an object of the cluster.
func (c *Cluster) view(object *object.Object) *kopf.Object {
	c.t.Helper()
	view := new(kopf.Object)
	if err := view.UnmarshalJSON(object.Raw); err != nil {
		c.t.Fatalf("kopftest: %s: %v", object, err)
	}
	return view
}

// yamlOf returns the current object as YAML, for messages.
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
	tree, err := object.Tree()
	if err != nil {
		return err.Error()
	}
	text, err := yaml.Marshal(c.withoutSecrets(tree))
	if err != nil {
		return err.Error()
	}
	return string(text)
}
