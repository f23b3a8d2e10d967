package engine

import (
	"context"
	"slices"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// newest asks the server for the newest version of an object; nil if it is gone. It is a
// listing, since operators need no permission to get single objects.
func (o *operator) newest(ctx context.Context, res *resources.Resource, namespace, name, uid string) (*object.Object, error) {
	list, err := o.client.List(ctx, res, namespace, kube.ListOptions{FieldSelector: "metadata.name=" + name})
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(list.Items, func(o *object.Object) bool { return o.UID == uid })
	if i < 0 {
		return nil, nil
	}
	return list.Items[i], nil
}
