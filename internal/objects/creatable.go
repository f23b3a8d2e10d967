package objects

import (
	"context"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// creatable describes the resources whose objects can be created, in the order of the keys, without the known
// resources. The error joins the errors of all reads.
func (c *Client) creatable(ctx context.Context, keys []string, known []inspect.Resource) ([]inspect.Resource, error) {
	var found []inspect.Resource
	var errs []error
	documents := map[string]*metav1.APIResourceList{} // by paths; nil if it could not be read
	for _, key := range keys {
		if slices.ContainsFunc(known, func(r inspect.Resource) bool { return r.Key == key }) {
			continue
		}
		gvr := resourceOf(key)
		where := "/apis/" + gvr.GroupVersion().String()
		if gvr.Group == "" {
			where = "/api/" + gvr.Version
		}
		document, asked := documents[where]
		if !asked {
			var err error
			if document, err = c.discover(ctx, where); err != nil {
				errs = append(errs, fmt.Errorf("find the kind of %s: %w", key, explain(err)))
			}
			documents[where] = document
		}
		if document == nil {
			continue
		}
		for _, r := range document.APIResources {
			if r.Name == gvr.Resource && slices.Contains(r.Verbs, "create") {
				found = append(found, inspect.Resource{Key: key, Kind: r.Kind, Namespaced: r.Namespaced})
			}
		}
	}
	return found, errors.Join(errs...)
}

// discover returns the resources of a group and version.
func (c *Client) discover(ctx context.Context, where string) (*metav1.APIResourceList, error) {
	config, err := c.Config()
	if err != nil {
		return nil, err
	}
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("configure the connection: %w", err)
	}
	var list metav1.APIResourceList
	if err := client.RESTClient().Get().AbsPath(where).Do(ctx).Into(&list); err != nil {
		return nil, err
	}
	return &list, nil
}
