package kopf

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kopf-dev/kopf/sdk/internal/engine/reconcile"
)

// Apply makes objects the children of the handled object. It is for handlers other than [OnReconcile]. It creates and updates the
// objects in the order of the arguments, with server-side apply. The objects are pointers to API structs, or unstructured. A
// second call with the same objects changes nothing, so a retry makes no duplicates.
//
// For each kind, a handler of the resource must have [Uses] with the verbs "get", "create" and "patch"; "kopf manifests" grants
// these permissions. The context must be the context of the handler, or derived from it.
//
// Names, namespaces, owner references and errors are as described at [Pass.Apply], but an error that would make a pass wait is
// temporary. After a refused permission or a failed request, the retry options of the handler apply, such as [RetryDelay].
// Apply takes back applied fields that other clients have changed, except through the scale subresource. It never changes an
// existing object that was not made for the handled object. The operator does not watch the children, and never deletes them.
// When the handled object is deleted, the cluster's garbage collection deletes them. See [Children without OnReconcile].
//
// [Children without OnReconcile]: https://github.com/kopf-dev/kopf/blob/main/docs/secondary-resources.md#without-onreconcile
func Apply(ctx context.Context, objs ...metav1.Object) error {
	return reconcile.Apply(ctx, untypedAll(objs))
}
