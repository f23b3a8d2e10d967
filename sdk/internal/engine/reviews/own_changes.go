package reviews

import (
	"context"
	"slices"
	"strings"

	"github.com/kopf-dev/kopf/sdk/internal/admission"
	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

// The operator's own records are not reviewed by its admission handlers: its finalizer, its annotations, its field of
// the status, and the results of handlers. A handler that denies them would prevent the removal of the finalizer
// forever. Two conditions must hold, and the API server guarantees both: the user is the operator's own user, and
// nothing else changes. So another user cannot avoid a handler, whatever the request, and changes by handlers are
// reviewed as well.

// isOwn reports whether a review only concerns the operator's own records.
func (r *Reviews) isOwn(ctx context.Context, res *core.ServedResource, request *admission.Request) bool {
	name := r.user.name.Load()
	if name == nil || *name == "" || request.User.Username != *name || request.Operation != handlers.OperationUpdate ||
		request.Subresource != "" && request.Subresource != "status" || request.Object == nil || request.Old == nil {
		return false
	}
	older, oldErr := r.withoutOwn(ctx, res, request.Old)
	newer, newErr := r.withoutOwn(ctx, res, request.Object)
	return oldErr == nil && newErr == nil && object.Equal(older, newer)
}

// withoutOwn returns an object without the operator's records and the fields that the API server sets.
func (r *Reviews) withoutOwn(ctx context.Context, res *core.ServedResource, obj *object.Object) (map[string]any, error) {
	tree, err := obj.Tree()
	if err != nil {
		return nil, err
	}
	settings, failures := r.deps.Settings, r.deps.Failures
	forgotten := patch.NewPatch()
	if state.ForgetLastHandled(state.BindDiffBase(ctx, settings.DiffBase, obj), tree, forgotten) == nil {
		tree = patch.Merged(tree, forgotten.Tree())
	} // otherwise, the fields of this storage count as foreign
	tree = failures.Clear(state.BindProgress(ctx, settings.Progress, obj).Clear(tree))
	prefix := failures.Prefix
	tree = state.Versions{Prefix: prefix}.Clear(state.StepStorage{Prefix: prefix}.Clear(state.ChildKinds{Prefix: prefix}.Clear(tree)))
	for _, field := range []string{"managedFields", "resourceVersion", "generation"} {
		tree = object.Without(tree, object.Path{"metadata", field})
	}
	if finalizers, ok := object.Metadata(tree)["finalizers"].([]any); ok {
		others := slices.DeleteFunc(slices.Clone(finalizers), func(item any) bool { return item == any(settings.Finalizer) })
		tree = object.With(tree, object.Path{"metadata", "finalizers"}, others)
		if len(others) == 0 {
			tree = object.Without(tree, object.Path{"metadata", "finalizers"})
		}
	}
	if status, ok := tree["status"].(map[string]any); ok {
		for key := range status {
			if delivers(res, key) {
				tree = object.Without(tree, object.Path{"status", key})
			}
		}
	}
	return state.WithoutEmpty(tree), nil
}

// delivers reports whether a status field contains the result of a handler or of its sub-handler.
func delivers(res *core.ServedResource, field string) bool {
	id, _, _ := strings.Cut(field, "/")
	returns := func(h *handlers.Handler) bool { return h.ID == field || h.ID == id }
	return res.Handlers.Any(handlers.Changing, returns) || res.Handlers.Any(handlers.Spawning, returns)
}
