package objects

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"

	"github.com/kopf-dev/kopf/devcluster/apply"
	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// Templates implements [runner.Objects].
func (c *Client) Templates(ctx context.Context, manifests []string, served []inspect.Resource, reviewed []string) ([]runner.Template, error) {
	var all []runner.Template
	found, notFound := c.creatable(ctx, reviewed, served)
	served = append(served[:len(served):len(served)], found...)
	read, err := readManifests(manifests)
	for _, m := range read {
		for _, res := range served {
			gvr := resourceOf(res.Key)
			if m.Object.GetKind() == res.Kind && m.Object.GetAPIVersion() == gvr.GroupVersion().String() {
				all = append(all, runner.Template{Resource: res, Name: m.Object.GetName(), File: m.File, Line: m.Line, Object: m.Object.Object})
			}
		}
	}
	for _, res := range served {
		all = append(all, runner.Template{Resource: res})
	}
	return all, errors.Join(err, notFound)
}

// readManifests reads each path by itself, so that an error in one file does not hide the other manifests.
func readManifests(paths []string) ([]apply.Manifest, error) {
	var all []apply.Manifest
	var errs []error
	for _, p := range paths {
		read, err := apply.Read([]string{p})
		all, errs = append(all, read...), append(errs, err)
	}
	return all, errors.Join(errs...)
}

// New implements [runner.Objects]. A manifest is a sample: its object usually exists, so the new one gets another name.
func (c *Client) New(ctx context.Context, t runner.Template) (*runner.Draft, error) {
	namespace, name := "", "my-"+strings.ToLower(t.Resource.Kind)
	if t.Resource.Namespaced {
		namespace = c.namespace()
	}
	base := map[string]any{}
	if t.Object != nil {
		base = editable(t.Object)
		if s, ok := at(base, []string{"metadata", "namespace"}).(string); ok && t.Resource.Namespaced {
			namespace = s
		}
		name = t.Name
	}
	name, err := c.freeName(ctx, t.Resource, namespace, name)
	if err != nil {
		return nil, err
	}
	metadata := map[string]any{"name": name}
	if namespace != "" {
		metadata["namespace"] = namespace
	}
	ref := inspect.Ref{Resource: t.Resource.Key, Namespace: namespace, Name: name}
	s := ""
	if t.Object != nil {
		base["metadata"] = merged(asMap(base["metadata"]), metadata)
		s, err = text(base)
	} else {
		s, err = c.skeleton(ctx, t.Resource, metadata)
		if err == nil {
			base, err = parse(s)
		}
	}
	return &runner.Draft{Object: ref, New: true, Text: s, Base: base}, err
}

// maxNames is how many names are tried for a new object.
const maxNames = 50

// freeName returns the name, or the name with a number if an object has it.
func (c *Client) freeName(ctx context.Context, res inspect.Resource, namespace, name string) (string, error) {
	requests, err := c.of(inspect.Ref{Resource: res.Key, Namespace: namespace})
	if err != nil {
		return "", err
	}
	tried := name
	for n := 2; n <= maxNames; n++ {
		_, err := requests.Get(ctx, tried, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return tried, nil
		}
		if err != nil {
			return "", explain(err)
		}
		tried = fmt.Sprintf("%s-%d", name, n)
	}
	return tried, nil // the API server refuses it if it exists, too
}

// skeleton returns the text of a new object that is made from the schema of the resource.
func (c *Client) skeleton(ctx context.Context, res inspect.Resource, metadata map[string]any) (string, error) {
	published, err := c.schemas(ctx, res)
	if err != nil {
		return "", err
	}
	return published.skeleton(res, metadata)
}

// schemas returns the API server's OpenAPI schemas for the group and version of a resource.
func (c *Client) schemas(ctx context.Context, res inspect.Resource) (schemas, error) {
	config, err := c.Config()
	if err != nil {
		return nil, err
	}
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("configure the connection: %w", err)
	}
	gvr := resourceOf(res.Key)
	where := path.Join("/openapi/v3/apis", gvr.Group, gvr.Version)
	if gvr.Group == "" {
		where = path.Join("/openapi/v3/api", gvr.Version)
	}
	raw, err := client.RESTClient().Get().AbsPath(where).SetHeader("Accept", "application/json").Do(ctx).Raw()
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil // of servers that publish none
	case err != nil:
		return nil, fmt.Errorf("read the schema of %s: %w", res.Kind, explain(err))
	}
	var document struct {
		Components struct {
			Schemas schemas `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(raw, &document); err != nil {
		return nil, fmt.Errorf("read the schema of %s: %w", res.Kind, err)
	}
	return document.Components.Schemas, nil
}

// namespace returns the namespace of new objects.
func (c *Client) namespace() string {
	if c.Namespace == nil {
		return metav1.NamespaceDefault
	}
	return c.Namespace()
}
