package kopftest

import (
	"context"
	"strconv"
	"testing"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/index"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/testhooks"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

// WithIndices returns a context for handlers that read indices. The context has the indices of a registry, filled by their
// indexing functions with the objects that match the filters. Objects have the formats of [Change]. They must have a kind,
// which determines the resource. As in an operator, an object is not in an index if the indexing function returns an error.
//
//	r := &kopf.Registry{}
//	byNode := kopf.NewIndex(r, pods, indexByNode)
//	ctx := kopftest.WithIndices(t.Context(), t, r, pod1, pod2)
//	names := byNode.Get(ctx, "node-1")
func WithIndices(ctx context.Context, t testing.TB, r *kopf.Registry, objects ...any) context.Context {
	t.Helper()
	if err := r.Err(); err != nil {
		t.Fatalf("kopftest: %v", err)
	}
	hs, indices := testhooks.HandlersOf(r), new(index.Indices)
	for _, h := range hs.All() {
		if h.Family == handlers.Index {
			indices.Ensure(h.ID, h.NewIndex)
		}
	}
	ctx = index.With(ctx, indices)
	for i, object := range objects {
		tree := treeOf(t, object)
		res := resourceOfObject(viewOf(t, tree))
		if res.Kind == "" {
			t.Fatalf("kopftest: cannot find the index of object %d: the object has no kind", i+1)
		}
		set := hs.ForResource(&res)
		if !set.Has(handlers.Indexing) {
			t.Fatalf("kopftest: object %d of the indices is a %s: no index is for %s", i+1, res.Kind, res.Key())
		}
		made := wireOf(t, tree)
		memo, logger := new(kopf.Memo), loggerOf(t)
		cause := &handlers.Cause{Resource: &res, Object: made, Tree: tree, Context: ctx, Views: &handlers.Views{Memo: memo}}
		for _, h := range set.Selected(handlers.Indexing, cause) {
			logger := logger.With("index", h.ID, "object", made.Name)
			values, err := h.Invoke(ctx, &handlers.Call{Cause: cause, Handler: h, Memo: memo, Logger: logger})
			if err != nil {
				logger.Warn("The indexing function has failed.", "error", err)
				continue
			}
			if values != nil {
				indices.Find(h.ID).Replace(index.Object{Scope: resources.Scope{Resource: res.Key()}, ID: strconv.Itoa(i)}, values)
			}
		}
	}
	return ctx
}
