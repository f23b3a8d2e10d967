package resources

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/printable"
)

// aggregated asks for the whole discovery in one document, which clusters have since Kubernetes 1.30.
const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

// maxDiscovery bounds a document of the discovery.
const maxDiscovery = 64 << 20

// discoveryList is a document of the aggregated discovery.
type discoveryList struct {
	Kind  string `json:"kind"`
	Items []struct {
		Metadata struct {
			Name string `json:"name"`
		} `json:"metadata"`
		Versions []struct {
			Version   string `json:"version"`
			Resources []struct {
				Resource     string `json:"resource"`
				ResponseKind struct {
					Kind string `json:"kind"`
				} `json:"responseKind"`
				Scope        string   `json:"scope"`
				Singular     string   `json:"singularResource"`
				Verbs        []string `json:"verbs"`
				ShortNames   []string `json:"shortNames"`
				Categories   []string `json:"categories"`
				Subresources []struct {
					Subresource string `json:"subresource"`
				} `json:"subresources"`
			} `json:"resources"`
		} `json:"versions"`
	} `json:"items"`
}

// Served returns the resources that a cluster serves now.
func Served(ctx context.Context, config *rest.Config) ([]inspect.APIResource, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("discover the resources of the cluster: %w", printable.Error(err))
	}
	defer client.CloseIdleConnections()
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("discover the resources of the cluster: %w", printable.Error(err))
	}
	var all []inspect.APIResource
	for _, path := range []string{"api", "apis"} {
		list, err := discover(ctx, client, base.JoinPath(path).String())
		if err != nil {
			return nil, fmt.Errorf("discover the resources of the cluster: %w", printable.Error(err))
		}
		all = append(all, list.resources()...)
	}
	return all, nil
}

func discover(ctx context.Context, client *http.Client, url string) (list *discoveryList, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", aggregated)
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("GET %s: the server answered %s", url, resp.Status)
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxDiscovery)).Decode(&list); err != nil {
		return nil, fmt.Errorf("GET %s: %w", url, err)
	}
	if list.Kind != "APIGroupDiscoveryList" {
		return nil, fmt.Errorf("GET %s: the server has no aggregated discovery; Kubernetes 1.30 or newer is needed", url)
	}
	return list, nil
}

func (l *discoveryList) resources() []inspect.APIResource {
	var all []inspect.APIResource
	for _, group := range l.Items {
		for at, v := range group.Versions {
			for _, r := range v.Resources {
				found := inspect.APIResource{
					Group: group.Metadata.Name, Version: v.Version, Plural: r.Resource, Kind: r.ResponseKind.Kind, Singular: r.Singular,
					Shortcuts: r.ShortNames, Categories: r.Categories, Verbs: r.Verbs, Namespaced: r.Scope == "Namespaced",
					Preferred: at == 0, // the documents list versions in order of preference
				}
				for _, s := range r.Subresources {
					found.Subresources = append(found.Subresources, s.Subresource)
				}
				slices.Sort(found.Subresources)
				slices.Sort(found.Verbs)
				all = append(all, found)
			}
		}
	}
	return all
}
