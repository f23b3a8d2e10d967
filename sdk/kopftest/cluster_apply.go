package kopftest

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

// fieldManager is the field manager of the tests' server-side applies.
const fieldManager = "kopftest"

// Apply applies manifests, as "kubectl apply --server-side" does. It applies custom resource definitions first, waits until
// they are served, and then applies the other objects in their order. It returns the last object; [Cluster.ApplyAll]
// returns all objects.
func (c *Cluster) Apply(yaml string) *Object {
	c.t.Helper()
	return lastOf(c.ApplyAll(yaml))
}

// ApplyAll applies manifests, as [Cluster.Apply] does, and returns all objects in the order of the
// manifests.
func (c *Cluster) ApplyAll(yaml string) []*Object {
	c.t.Helper()
	manifests, err := parse("the YAML", yaml)
	if err != nil {
		c.t.Fatalf("kopftest: %v", err)
	}
	return c.apply(manifests)
}

// ApplyFile applies files, as [Cluster.Apply] does. Paths are relative to the folder of the test.
func (c *Cluster) ApplyFile(paths ...string) *Object {
	c.t.Helper()
	return lastOf(c.ApplyAllFiles(paths...))
}

// ApplyAllFiles applies files, as [Cluster.ApplyFile] does, and returns all objects in the order of
// the files and manifests.
func (c *Cluster) ApplyAllFiles(paths ...string) []*Object {
	c.t.Helper()
	return c.applyFiles(paths, os.ReadFile)
}

// ApplyFS applies the files of a file system that match the patterns, such as "*.yaml", as
// [Cluster.Apply] does. Without patterns, it applies all files.
func (c *Cluster) ApplyFS(fsys fs.FS, patterns ...string) *Object {
	c.t.Helper()
	if len(patterns) == 0 {
		patterns = []string{"*"}
	}
	var paths []string
	for _, pattern := range patterns {
		matches, err := fs.Glob(fsys, pattern)
		if err != nil || len(matches) == 0 {
			c.t.Fatalf("kopftest: there is no file %s (%v)", pattern, err)
		}
		paths = append(paths, matches...)
	}
	return lastOf(c.applyFiles(paths, func(path string) ([]byte, error) { return fs.ReadFile(fsys, path) }))
}

// lastOf returns the last object that is not a custom resource definition; if there is none, the last object.
func lastOf(objects []*Object) *Object {
	for _, o := range slices.Backward(objects) {
		if o.Kind != definitionKind {
			return o
		}
	}
	return objects[len(objects)-1]
}

func (c *Cluster) applyFiles(paths []string, read func(string) ([]byte, error)) []*Object {
	c.t.Helper()
	var all []manifest
	for _, path := range paths {
		text, err := read(path)
		if err != nil {
			c.t.Fatalf("kopftest: %v", err)
		}
		manifests, err := parse(path, string(text))
		if err != nil {
			c.t.Fatalf("kopftest: %v", err)
		}
		all = append(all, manifests...)
	}
	return c.apply(all)
}

func (c *Cluster) apply(manifests []manifest) []*Object {
	c.t.Helper()
	if len(manifests) == 0 {
		c.t.Fatalf("kopftest: there is no manifest to apply")
	}
	ctx, cancel := c.context()
	defer cancel()
	objects := make([]*Object, len(manifests))
	for _, definitions := range []bool{true, false} {
		for i, m := range manifests {
			if m.isDefinition() != definitions {
				continue
			}
			o, err := c.applyOne(ctx, m)
			if err != nil {
				c.t.Fatalf("kopftest: %s: %s %s: %v", m.source, m.text("kind"), m.text("metadata", "name"), err)
			}
			objects[i] = o
		}
		if definitions {
			c.waitServed(ctx, manifests)
		}
	}
	return objects
}

func (c *Cluster) applyOne(ctx context.Context, m manifest) (*Object, error) {
	res, err := c.resourceOfKind(ctx, m.text("apiVersion"), m.text("kind"))
	if err != nil {
		return nil, err
	}
	namespace, name := c.namespaceOf(res, m), m.text("metadata", "name")
	for {
		previous, err := c.previous(ctx, res, namespace, name)
		if err != nil {
			return nil, err
		}
		made := false
		if m.isDefinition() && c.lasting {
			m, made = markMade(m, previous)
		}
		applied, err := c.send(ctx, res, namespace, m)
		if err != nil {
			return nil, err
		}
		if made && !borrowedAlready(previous) {
			err := c.borrow(ctx, name)
			if apierrors.IsNotFound(err) {
				continue // another test binary has just deleted the definition
			}
			if err != nil {
				return nil, err
			}
		}
		o := c.handle(res, namespace, applied.Name)
		o.version, o.created = applied.ResourceVersion, previous == nil
		return o, nil
	}
}

// previous returns the existing object that a manifest is going to change; nil if it does not exist.
func (c *Cluster) previous(ctx context.Context, res *resources.Resource, namespace, name string) (*kopf.Object, error) {
	object, err := c.client.Get(ctx, res, namespace, name)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return c.view(object), nil
}

// send applies a manifest.
func (c *Cluster) send(ctx context.Context, res *resources.Resource, namespace string, m manifest) (*object.Object, error) {
	query := url.Values{"fieldManager": {fieldManager}, "force": {"true"}}
	path, err := res.Path(namespace, m.text("metadata", "name"), "", query)
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(m.tree)
	if err != nil {
		return nil, err
	}
	answer, err := c.client.Do(ctx, kube.Request{
		Method: http.MethodPatch, Path: path, ContentType: "application/apply-patch+yaml", Body: body, Resource: res,
	})
	if err != nil {
		return nil, err
	}
	return object.Parse(answer, object.ParseOptions{APIVersion: res.APIVersion(), Kind: res.Kind})
}

// waitServed waits until the API server serves the defined resources, some milliseconds after the definitions were applied.
func (c *Cluster) waitServed(ctx context.Context, manifests []manifest) {
	c.t.Helper()
	for _, m := range manifests {
		if !m.isDefinition() {
			continue
		}
		versions, kind := m.defines()
		for _, version := range versions {
			if err := c.waitKind(ctx, version, kind); err != nil {
				c.t.Fatalf("kopftest: %s: %s %s is not served: %v\nlook at the conditions of the definition:\n%s",
					m.source, version, kind, err, c.yamlOf(definitions, "", m.text("metadata", "name")))
			}
		}
	}
}

func groupOf(apiVersion string) string {
	group, _, grouped := strings.Cut(apiVersion, "/")
	if !grouped {
		return ""
	}
	return group
}

// unknownKindError is the error for a kind that the cluster does not serve (yet).
type unknownKindError struct {
	apiVersion, kind string
	others           []string // API versions that have a kind with this name
}

// Error lists the API versions that have a kind with this name.
func (e unknownKindError) Error() string {
	text := fmt.Sprintf("the cluster does not know the kind %s of %s: ", e.kind, e.apiVersion)
	if len(e.others) > 0 {
		return text + "it is a kind of " + strings.Join(e.others, ", ")
	}
	return text + "is its definition applied?"
}
