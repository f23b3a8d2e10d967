package uninstall

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

const (
	// pageSize is the number of objects that one request lists.
	pageSize = 500
	// workers is the number of objects that are changed at the same time.
	workers = 8
	// attempts is how often a list is begun, and how often an object is read that others change meanwhile.
	attempts = 6
)

// acceptMetadata asks for the metadata of the objects alone. Servers that cannot do that send whole objects, whose
// metadata are read as well.
const acceptMetadata = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1, application/json"

// marked is an object that has the finalizer.
type marked struct {
	resource        *resources.Resource
	namespace, name string // no namespace for objects of none
	deleting        bool   // the object is deleted as soon as it has no finalizers
	finalizers      []string
	version         string
}

// String returns the object as kubectl names it.
func (o marked) String() string {
	name := o.resource.GVR().GroupResource().String() + "/" + o.name
	if o.namespace != "" {
		name += " in " + o.namespace
	}
	return name
}

// deletes says what happens to an object that is released while it is being deleted.
func (o marked) deletes() string {
	if o.deleting {
		return " (its deletion waits only for finalizers)"
	}
	return ""
}

// removeFinalizers removes the finalizer from all objects, or lists the objects in a dry run.
func (r *remover) removeFinalizers(ctx context.Context) {
	for _, group := range slices.Sorted(maps.Keys(r.target.Unknown)) {
		r.cannotSee("resources of "+group, r.target.Unknown[group])
	}
	var objects []marked
	for i := range r.target.Resources {
		res := toResource(&r.target.Resources[i])
		namespaces, meant := r.target.places(res.Namespaced)
		for _, namespace := range namespaces {
			found, err := r.list(ctx, res, namespace, "")
			if err != nil {
				where := ""
				if namespace != "" {
					where = " in " + namespace
				}
				r.cannotSee(res.GVR().GroupResource().String()+where, err)
				continue
			}
			for _, o := range found {
				if meant(o.namespace) {
					objects = append(objects, o)
				}
			}
		}
	}
	r.found += len(objects)
	if r.options.DryRun {
		for _, o := range objects {
			r.print("%s%s", o, o.deletes())
		}
		r.note("objects with the finalizer %s: %d", r.target.Finalizer, len(objects))
		return
	}
	released := r.releaseAll(ctx, objects)
	r.left += len(objects) - released
	r.note("objects without the finalizer %s now: %d", r.target.Finalizer, released)
}

func toResource(r *inspect.APIResource) *resources.Resource {
	return &resources.Resource{Group: r.Group, Version: r.Version, Plural: r.Plural, Kind: r.Kind, Namespaced: r.Namespaced}
}

// list returns the objects of a namespace that have the finalizer, or the one of a name. It begins again if the
// server has forgotten where it was. A resource that the cluster does not have, has no objects.
func (r *remover) list(ctx context.Context, res *resources.Resource, namespace, name string) ([]marked, error) {
	var found []marked
	next := ""
	for begun := 1; ; {
		query := url.Values{"limit": {strconv.Itoa(pageSize)}}
		if name != "" {
			query.Set("fieldSelector", "metadata.name="+name)
		}
		if next != "" {
			query.Set("continue", next)
		}
		page, err := r.page(ctx, res, namespace, query)
		switch class := kube.Classify(err); {
		case class == kube.NotFound:
			return nil, nil
		case class == kube.Expired && begun < attempts:
			begun++
			found, next = nil, ""
			continue
		case err != nil:
			return nil, err
		}
		for i := range page.Items {
			if o := &page.Items[i]; slices.Contains(o.Finalizers, r.target.Finalizer) {
				found = append(found, marked{
					resource: res, namespace: o.Namespace, name: o.Name, deleting: o.DeletionTimestamp != nil,
					finalizers: o.Finalizers, version: o.ResourceVersion,
				})
			}
		}
		if next = page.Continue; next == "" {
			return found, nil
		}
	}
}

// page returns a part of a list.
func (r *remover) page(ctx context.Context, res *resources.Resource, namespace string, query url.Values) (*metav1.PartialObjectMetadataList, error) {
	path, err := res.Path(namespace, "", "", query)
	if err != nil {
		return nil, err
	}
	body, err := r.kube.Do(ctx, kube.Request{Method: http.MethodGet, Path: path, Accept: acceptMetadata, Resource: res})
	if err != nil {
		return nil, err
	}
	var page *metav1.PartialObjectMetadataList
	// A list of no objects may have no items.
	if err := json.Unmarshal(body, &page); err != nil || page == nil || !strings.HasSuffix(page.Kind, "List") {
		return nil, fmt.Errorf("GET %s: the answer is not a list of objects", path)
	}
	return page, nil
}

// releaseAll removes the finalizer from the objects, and continues after an error. It returns the number of objects
// without the finalizer.
func (r *remover) releaseAll(ctx context.Context, objects []marked) (released int) {
	next := make(chan marked)
	var group sync.WaitGroup
	var mu sync.Mutex
	for range min(workers, len(objects)) {
		group.Go(func() {
			for o := range next {
				err := r.release(ctx, o)
				mu.Lock()
				switch {
				case err == nil:
					released++
					r.print("%s: released%s", o, o.deletes())
				case ctx.Err() == nil: // after the end of the context, all requests fail for this reason
					r.note("%s: %v", o, err)
				}
				mu.Unlock()
			}
		})
	}
	for _, o := range objects {
		if ctx.Err() != nil {
			break
		}
		next <- o
	}
	close(next)
	group.Wait()
	return released
}

// release removes the finalizer from one object, despite concurrent changes of the object. A deleted object counts as
// a success.
func (r *remover) release(ctx context.Context, o marked) error {
	for attempt := 1; ; attempt++ {
		_, err := r.kube.Patch(ctx, o.resource, o.namespace, o.name, "", patch.MergeType, r.without(o))
		switch class := kube.Classify(err); {
		case err == nil, class == kube.NotFound:
			return nil
		case class != kube.Conflict:
			return err
		case attempt == attempts:
			return fmt.Errorf("after %d attempts: %w", attempts, err)
		}
		if err := wait(ctx, r.pause<<(attempt-1)); err != nil {
			return err
		}
		now, err := r.list(ctx, o.resource, o.namespace, o.name)
		if err != nil {
			return err
		}
		if len(now) == 0 {
			return nil
		}
		o = now[0]
	}
}

// without returns the patch that removes only this finalizer from this version of the object.
func (r *remover) without(o marked) []byte {
	kept := slices.DeleteFunc(slices.Clone(o.finalizers), func(name string) bool { return name == r.target.Finalizer })
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"finalizers": kept, "resourceVersion": o.version}})
	if err != nil {
		panic(err) // texts encode
	}
	return body
}
