package core

import (
	"context"
	"slices"
	"strconv"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// NewestVersion reads the newest version of an object. If the object does not exist, it records a tombstone and returns
// nil. It lists instead of gets, because operators need no permission to get objects.
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

// NumberOf returns a resourceVersion as a number; 0 if it is not a number.
func NumberOf(resourceVersion string) uint64 {
	number, err := strconv.ParseUint(resourceVersion, 10, 64)
	if err != nil {
		return 0
	}
	return number
}
