package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// errNotServed means that the server does not serve the kind, or not yet.
var errNotServed = errors.New("the server does not know this kind")

// resource has the parts of the URL path of an object.
type resource struct {
	gvr        schema.GroupVersionResource
	namespaced bool
}

// resources looks up the resource of a kind with one request for each group and version.
// client-go's discovery would request all groups and link every API type.
type resources struct {
	client *http.Client
	base   *url.URL
	known  map[schema.GroupVersionKind]resource
}

func newResources(cfg *rest.Config, client *http.Client) (*resources, error) {
	base, _, err := rest.DefaultServerUrlFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("parse the address of the server: %w", err)
	}
	return &resources{client: client, base: base, known: map[schema.GroupVersionKind]resource{}}, nil
}

// of returns the resource of a kind. The error is errNotServed if there is none.
func (r *resources) of(ctx context.Context, gvk schema.GroupVersionKind) (resource, error) {
	if found, ok := r.known[gvk]; ok {
		return found, nil
	}
	list, err := r.ask(ctx, gvk.GroupVersion())
	if err != nil {
		return resource{}, err
	}
	for _, res := range list.APIResources {
		// Names with a slash are subresources.
		if !strings.Contains(res.Name, "/") {
			kind := gvk.GroupVersion().WithKind(res.Kind)
			r.known[kind] = resource{gvr: gvk.GroupVersion().WithResource(res.Name), namespaced: res.Namespaced}
		}
	}
	found, ok := r.known[gvk]
	if !ok {
		return resource{}, errNotServed
	}
	return found, nil
}

func (r *resources) ask(ctx context.Context, gv schema.GroupVersion) (_ *metav1.APIResourceList, err error) {
	path := []string{"apis", gv.Group, gv.Version}
	if gv.Group == "" {
		path = []string{"api", gv.Version}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.base.JoinPath(path...).String(), nil)
	if err != nil {
		return nil, fmt.Errorf("discover the resources of %s: %w", gv, err)
	}
	req.Header.Set("Accept", "application/json")
	resp, err := r.client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("discover the resources of %s: %w", gv, err)
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("discover the resources of %s: %w", gv, err)
	}
	switch resp.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound:
		return nil, errNotServed
	default:
		return nil, fmt.Errorf("discover the resources of %s: the server answered %s", gv, resp.Status)
	}
	var list metav1.APIResourceList
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, fmt.Errorf("discover the resources of %s: %w", gv, err)
	}
	return &list, nil
}
