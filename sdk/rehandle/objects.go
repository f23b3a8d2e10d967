package rehandle

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

const (
	// pageSize is the number of objects that one request lists.
	pageSize = 500
	// attempts is the maximum number of times that a list is started.
	attempts = 6
)

// acceptMetadata requests only the metadata of the objects. Servers that do not support this format send whole objects.
const acceptMetadata = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1, application/json"

// status is the state of an object with regard to a version of a handler.
type status int

const (
	statusLeft     status = iota // handled by another version
	statusMarked                 // marked, and not handled yet
	statusHandled                // handled by the version
	statusFailed                 // the version has failed permanently
	statusGone                   // deleted, or being deleted
	statusPaused                 // paused by an annotation, so that no operator handles it
	statusUncalled               // the mark was removed without a call, because no filter matches or another run withdrew it
	statusRefused                // the API server refuses the mark of this object: it does not fit its schema, or an admission webhook denies the change
)

// item is an object of the handler.
type item struct {
	resource        *resources.Resource
	namespace, name string
	uid             string
	share           float64 // position of the object in the order of the stages, from 0 to below 1
	markKey         string  // name of the annotation with the mark

	status  status
	hasMark bool   // the object has the mark, or may have it because the answer to the marking request was lost
	failure string // message of the failure; empty if it has not failed
}

// String returns the object as kubectl names it.
func (i *item) String() string {
	name := i.resource.GVR().GroupResource().String() + "/" + i.name
	if i.namespace != "" {
		name += " in " + i.namespace
	}
	return name
}

// shareOf returns the position of an object in the order of the stages. It is the same in each run.
func shareOf(uid string) float64 {
	sum := sha256.Sum256([]byte(uid))
	return float64(binary.BigEndian.Uint64(sum[:8])) / math.MaxUint64
}

// list returns the objects of the target, in the order of the stages. Objects that are being deleted are left out.
func (r *marker) list(ctx context.Context) ([]*item, error) {
	var all []*item
	within := false
	for i := range r.target.Resources {
		res := toResource(&r.target.Resources[i])
		namespaces := r.target.Namespaces
		switch {
		case len(namespaces) == 0:
			namespaces = []string{""}
		case !res.Namespaced:
			continue
		}
		within = true
		for _, namespace := range namespaces {
			found, err := r.listIn(ctx, res, namespace)
			if err != nil {
				return nil, fmt.Errorf("list %s: %w", res.GVR().GroupResource(), err)
			}
			all = append(all, found...)
		}
	}
	if !within {
		return nil, errors.New("the objects of the handler are in no namespace, so a namespace excludes all of them")
	}
	slices.SortFunc(all, func(a, b *item) int { return cmp.Or(cmp.Compare(a.share, b.share), cmp.Compare(a.uid, b.uid)) })
	return slices.CompactFunc(all, func(a, b *item) bool { return a.uid == b.uid }), nil
}

func toResource(r *inspect.APIResource) *resources.Resource {
	return &resources.Resource{Group: r.Group, Version: r.Version, Plural: r.Plural, Kind: r.Kind, Namespaced: r.Namespaced}
}

// listIn returns the objects of a namespace, or of the cluster if the namespace is empty. It starts the list again if the server no longer
// accepts the continue token.
func (r *marker) listIn(ctx context.Context, res *resources.Resource, namespace string) ([]*item, error) {
	var found []*item
	next := ""
	for begun := 1; ; {
		query := url.Values{"limit": {strconv.Itoa(pageSize)}}
		if r.target.LabelSelector != "" {
			query.Set("labelSelector", r.target.LabelSelector)
		}
		if next != "" {
			query.Set("continue", next)
		}
		page, err := r.page(ctx, res, namespace, query)
		switch {
		case kube.Classify(err) == kube.Expired && begun < attempts:
			begun++
			found, next = nil, ""
			continue
		case err != nil:
			return nil, err
		}
		for _, one := range page.Items {
			if i := r.read(res, one.Metadata); i.status != statusGone {
				found = append(found, i)
			}
		}
		if next = page.Metadata.Continue; next == "" {
			return found, nil
		}
	}
}

// page is a part of a list.
type page struct {
	Kind     string
	Metadata struct{ Continue string }
	Items    []struct{ Metadata map[string]any }
}

func (r *marker) page(ctx context.Context, res *resources.Resource, namespace string, query url.Values) (*page, error) {
	path, err := res.Path(namespace, "", "", query)
	if err != nil {
		return nil, err
	}
	body, err := r.kube.Do(ctx, kube.Request{Method: http.MethodGet, Path: path, Accept: acceptMetadata, Resource: res})
	if err != nil {
		return nil, err
	}
	var p page
	if err := json.Unmarshal(body, &p); err != nil || !strings.HasSuffix(p.Kind, "List") {
		return nil, fmt.Errorf("GET %s: the answer is not a list of objects", path)
	}
	return &p, nil
}

// read returns an object with its status.
func (r *marker) read(res *resources.Resource, metadata map[string]any) *item {
	tree := map[string]any{"kind": res.Kind, "metadata": metadata}
	text := func(key string) string {
		s, _ := metadata[key].(string)
		return s
	}
	i := &item{
		resource: res, namespace: text("namespace"), name: text("name"), uid: text("uid"), share: shareOf(text("uid")),
		markKey: r.versions().MarkKey(r.target.Handler, tree),
	}
	marks := func(m state.Mark) bool { return m.Handler == r.target.Handler && m.Version == r.target.Version }
	i.hasMark = slices.ContainsFunc(r.versions().Marks(tree), marks)
	_, paused := state.Paused(tree)
	failures := (state.Failures{Prefix: r.target.Prefix}).Read(tree, []string{r.target.Handler}) // including failures of sub-handlers
	failed := slices.IndexFunc(failures, func(f state.Failure) bool { return f.Version == r.target.Version })
	switch {
	case text("deletionTimestamp") != "":
		i.status, i.hasMark = statusGone, false // the mark has no effect any longer
	case i.hasMark && !paused:
		i.status = statusMarked
	case failed >= 0:
		i.status, i.failure = statusFailed, failures[failed].Message
	case r.versions().Of(tree, r.target.Handler) == r.target.Version:
		i.status = statusHandled
	case paused:
		i.status = statusPaused
	}
	return i
}

func (r *marker) versions() state.Versions { return state.Versions{Prefix: r.target.Prefix} }

// reread reads the status of an object again.
func (r *marker) reread(ctx context.Context, i *item) error {
	now, err := r.kube.GetMetadata(ctx, i.resource, i.namespace, i.name)
	if kube.Classify(err) == kube.NotFound {
		i.status, i.hasMark = statusGone, false
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", i, err)
	}
	tree, err := now.Tree()
	if err != nil {
		return fmt.Errorf("read %s: %w", i, err)
	}
	read := r.read(i.resource, object.Metadata(tree))
	if i.status, i.hasMark, i.failure = read.status, read.hasMark, read.failure; read.uid != i.uid {
		i.status, i.hasMark = statusGone, false
	}
	return nil
}

// setMark marks an object, or removes the mark. Another object with the name stays unchanged. After a conflict, the object keeps its
// status.
func (r *marker) setMark(ctx context.Context, i *item, marked bool) error {
	annotations := map[string]any{i.markKey: nil}
	if marked {
		var err error
		if annotations, err = r.versions().Marked(i.markKey, state.Mark{Handler: r.target.Handler, Version: r.target.Version, UID: i.uid}); err != nil {
			return err
		}
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": i.uid, "annotations": annotations}})
	if err != nil {
		return err
	}
	i.hasMark = i.hasMark || marked // the mark of a request without an answer must be withdrawn
	_, err = r.kube.Patch(ctx, i.resource, i.namespace, i.name, "", patch.MergeType, body)
	switch class := kube.Classify(err); {
	case err == nil:
		if i.hasMark = marked; marked {
			i.status = statusMarked
		} else if i.status == statusMarked {
			i.status = statusLeft
		}
		return nil
	case marked && kube.IsDenied(err): // checked first, because a webhook chooses the status of its answer
		r.refuse(i, err)
		return nil
	case kube.IsDenied(err):
		return fmt.Errorf("remove the mark of %s: %w", i, err)
	case class == kube.NotFound, class == kube.Conflict, kube.IsOtherUID(err):
		return r.reread(ctx, i)
	case marked && (class == kube.Invalid || class == kube.Rejected):
		r.refuse(i, err)
		return nil
	case marked:
		i.hasMark = class != kube.Forbidden
		return fmt.Errorf("mark %s: %w", i, err)
	default:
		return fmt.Errorf("remove the mark of %s: %w", i, err)
	}
}

// refuse records that the API server refuses the mark of an object.
func (r *marker) refuse(i *item, err error) {
	i.status, i.hasMark = statusRefused, false
	r.note("%s: the mark is refused: %v", i, err)
}
