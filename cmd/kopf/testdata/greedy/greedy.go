// Package greedy has a handler with a request that its registration does not tell.
package greedy

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

// Register is called by kopf run.
func Register(r *kopf.Registry) {
	kopf.OnCreate(r, kopf.Resource("v1", "configmaps"), create, kopf.Labels{"greedy": "yes"}, kopf.ErrorsPermanent)
}

func create(ctx context.Context, c *kopf.Change[kopf.Object]) error {
	client, err := dynamic.NewForConfig(kopf.RESTConfig(ctx))
	if err != nil {
		return err
	}
	_, err = client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "secrets"}).Namespace(c.Namespace).List(ctx, metav1.ListOptions{})
	return err
}
