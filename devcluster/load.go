package devcluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kopf-dev/kopf/devcluster/internal/instance"
)

// Load stores objects of another cluster as they are: with uids, generations, statuses, times and owners. It replaces objects
// of the same name. Each object has its apiVersion and kind. Objects that the server could not read are refused; earlier ones of
// the call may be stored then. Load is for clusters that were started with [Options].Copy, and may be called concurrently.
func (c *Cluster) Load(ctx context.Context, resource schema.GroupResource, objects []json.RawMessage) error {
	if !c.copied {
		return errors.New("load objects: the cluster was not started as a copy")
	}
	readers := make([]io.Reader, len(objects))
	for i, object := range objects {
		readers[i] = bytes.NewReader(object)
	}
	return instance.Load(ctx, filepath.Dir(c.KubeconfigPath), resource.Group, resource.Resource, io.MultiReader(readers...))
}
