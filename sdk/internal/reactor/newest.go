package reactor

import (
	"context"
	"slices"

	"github.com/kopf-dev/kopf/sdk/internal/apiclient"
	"github.com/kopf-dev/kopf/sdk/internal/resource"
	"github.com/kopf-dev/kopf/sdk/internal/wire"
)

// newest asks the server for the newest version of an object; nil if it is gone. It is a
// listing, since operators need no permission to get single objects.
func (o *operator) newest(ctx context.Context, res *resource.Resource, namespace, name, uid string) (*wire.Object, error) {
	list, err := o.client.List(ctx, res, namespace, apiclient.ListOptions{FieldSelector: "metadata.name=" + name})
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(list.Items, func(o *wire.Object) bool { return o.UID == uid })
	if i < 0 {
		return nil, nil
	}
	return list.Items[i], nil
}
