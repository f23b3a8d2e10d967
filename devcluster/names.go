package devcluster

import (
	"context"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
)

// Contexts returns the sorted names of the contexts of a kubeconfig. Without a path, it is the
// default one, as in kubectl.
func Contexts(kubeconfig string) ([]string, error) {
	if err := checkKubeconfigFiles(kubeconfig); err != nil {
		return nil, err
	}
	raw, err := clientConfig(kubeconfig, "").RawConfig()
	if err != nil {
		return nil, kubeconfigError(kubeconfig, err)
	}
	return slices.Sorted(maps.Keys(raw.Contexts)), nil
}

// Namespaces returns the names of the namespaces in the cluster that the options select. It
// neither starts a cluster nor requires that it looks like a development cluster. It returns
// none if no cluster is running.
func Namespaces(ctx context.Context, o Options) ([]string, error) {
	provider, _, err := chooseProvider(o)
	if err != nil {
		return nil, err
	}
	kubeconfig, contextName := o.Kubeconfig, o.Context
	if provider != Context {
		known, err := List(ctx)
		if err != nil {
			return nil, err
		}
		i := find(known, o.Name)
		if o.Name == "" {
			i = ofProject(o.Project, known)
		}
		if i == nil || i.State != Running {
			return nil, nil
		}
		kubeconfig, contextName = i.Kubeconfig, i.Context
	}
	cfg, err := clientConfig(kubeconfig, contextName).ClientConfig()
	if err != nil {
		return nil, kubeconfigError(kubeconfig, err)
	}
	client, err := metadata.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("configure the connection: %w", err)
	}
	list, err := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}).List(ctx, metav1.ListOptions{Limit: maxNamespaces})
	if err != nil {
		return nil, fmt.Errorf("list the namespaces: %w", err)
	}
	names := make([]string, len(list.Items))
	for i := range list.Items {
		names[i] = list.Items[i].Name
	}
	return names, nil
}

// maxNamespaces is the maximal number of names that are listed.
const maxNamespaces = 500
