package objects

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// usual are the resources that operators make most, besides those that they watch.
var usual = []string{
	"pods.v1", "services.v1", "configmaps.v1", "secrets.v1", "serviceaccounts.v1", "persistentvolumeclaims.v1",
	"deployments.v1.apps", "statefulsets.v1.apps", "daemonsets.v1.apps", "replicasets.v1.apps", "jobs.v1.batch", "cronjobs.v1.batch",
}

// ownedPage is how many objects of a resource are read at once.
const ownedPage = 500

// Owned implements [runner.Objects]. It reads only the metadata. It does not descend to the objects that owned
// objects own.
func (c *Client) Owned(ctx context.Context, ref inspect.Ref, served []inspect.Resource) ([]string, error) {
	config, err := c.Config()
	if err != nil {
		return nil, err
	}
	config = rest.CopyConfig(config)
	config.QPS, config.WarningHandlerWithContext = -1, rest.NoWarnings{}
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("configure the connection: %w", err)
	}
	keys := slices.Clone(usual)
	for _, r := range served {
		if !slices.Contains(keys, r.Key) && (r.Namespaced || ref.Namespace == "") {
			keys = append(keys, r.Key)
		}
	}
	found := make([][]string, len(keys))
	failed := make([]error, len(keys))
	var tasks sync.WaitGroup
	for i, key := range keys {
		tasks.Go(func() { found[i], failed[i] = ownedOf(ctx, client, resourceOf(key), ref) })
	}
	tasks.Wait()
	return slices.Concat(found...), errors.Join(failed...)
}

// ownedOf returns the objects of a resource that have an object as their owner.
func ownedOf(ctx context.Context, client metadata.Interface, res schema.GroupVersionResource, ref inspect.Ref) ([]string, error) {
	var names []string
	o := metav1.ListOptions{Limit: ownedPage}
	for {
		list, err := client.Resource(res).Namespace(ref.Namespace).List(ctx, o)
		if apierrors.IsNotFound(err) {
			return nil, nil // the cluster does not have the resource
		}
		if err != nil {
			return names, fmt.Errorf("%s: %w", res.Resource, explain(err))
		}
		for _, item := range list.Items {
			isOwner := func(r metav1.OwnerReference) bool { return string(r.UID) == ref.UID }
			if slices.ContainsFunc(item.OwnerReferences, isOwner) {
				names = append(names, res.Resource+" "+item.Name)
			}
		}
		if o.Continue = list.Continue; o.Continue == "" {
			return names, nil
		}
	}
}
