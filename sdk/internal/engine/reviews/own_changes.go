package reviews

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/admission"
	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

// The operator's own records are not reviewed by its admission handlers: its finalizer, its annotations, its field of the status, and
// the results of handlers. A handler that denies them would prevent the removal of the finalizer forever. The API server guarantees
// that the user is the operator's own user, and that nothing else changes, so that another user cannot avoid a handler.

const (
	ownUserTimeout  = 5 * time.Second  // limits a request for the name of the operator's user
	ownUserInterval = 30 * time.Second // delay after a failed request
)

// askOwnUser requests the name of the operator's user once. It reports whether no other request is necessary.
func (r *Reviews) askOwnUser(ctx context.Context) (final bool) {
	if r.deps.Settings.Admission.ReviewOwn {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, ownUserTimeout)
	defer cancel()
	answer, err := r.deps.Client.WithoutRetries().Do(ctx, kube.Request{
		Method: http.MethodPost, Path: "/apis/authentication.k8s.io/v1/selfsubjectreviews", ContentType: "application/json",
		Body: []byte(`{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}`), // available since Kubernetes 1.28, to all users
	})
	var review any
	if err == nil {
		review, err = object.DecodeJSON(answer)
	}
	if err == nil {
		user, _ := object.Lookup(review, object.Path{"status", "userInfo", "username"})
		name, _ := user.(string)
		r.ownUser.Store(&name)
		return true
	}
	r.deps.Logger.Debug("Cannot find out the operator's own user name; its admission handlers are asked about its own records, too",
		observe.EventKey, observe.LogReviewUnidentified, "error", err)
	class := kube.Classify(err)
	return class == kube.NotFound || class == kube.Forbidden
}

// isOwn reports whether a review only concerns the operator's own records.
func (r *Reviews) isOwn(ctx context.Context, res *core.ServedResource, request *admission.Request) bool {
	name := r.ownUser.Load()
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
