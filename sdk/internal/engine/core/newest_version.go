package core

import (
	"context"
	"slices"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// NewestVersion lists the newest version of an object; nil if it does not exist anymore, which is remembered.
// Operators need no permission to get single objects.
func (d *Deps) NewestVersion(ctx context.Context, res *resources.Resource, namespace, name, uid string) (*object.Object, error) {
	list, err := d.Client.List(ctx, res, namespace, kube.ListOptions{FieldSelector: "metadata.name=" + name})
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(list.Items, func(o *object.Object) bool { return o.UID == uid })
	if i < 0 {
		d.Graves.Bury(res.Key(), uid, list.ResourceVersion)
		return nil, nil
	}
	return list.Items[i], nil
}
