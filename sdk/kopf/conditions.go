package kopf

import (
	"errors"
	"runtime"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kopf-dev/kopf/sdk/internal/engine/conditions"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
)

// Conditions makes the operator keep the conditions Ready, Reconciling and Stalled in the status of the objects of a resource,
// together with status.observedGeneration. So "kubectl wait --for=condition=Ready" works. The conditions follow from the outcomes
// of the change handlers, from the outcome of the [OnReconcile] handler, and from the readiness of the children. Objects without
// such handlers, and objects that are being deleted, keep the conditions that they have.
//
// The operator writes the conditions with server-side apply, under a separate field manager, and only if they differ from the
// object's. The definition of the resource must declare the list status.conditions as a map by type: see [Status and conditions].
//
// [Status and conditions]: https://github.com/kopf-dev/kopf/blob/main/docs/status-and-conditions.md
func Conditions(r *Registry, resource Selector) {
	selector, err := resource.engine()
	if err != nil {
		_, file, line, _ := runtime.Caller(1)
		r.addError(file, line, "Conditions", err)
		return
	}
	r.conditions = conditions.NewKeeper
	r.registry.KeepConditions(selector)
}

var errNoConditions = errors.New("set a condition: this handler cannot; use a change handler, OnReconcile, a timer or a daemon")

// SetCondition sets a condition of the object, whose resource must have [Conditions]. The operator writes the condition after
// the handler, whatever the handler returns, and keeps it until SetCondition sets another condition of this type. A condition
// without a Status removes the condition of its type. The operator fills in LastTransitionTime and ObservedGeneration if they are
// zero. It keeps the present LastTransitionTime while the Status stays the same.
//
// SetCondition returns a permanent error if the type is Ready, Reconciling or Stalled, or if a field such as the Reason is missing
// or invalid. It also returns one if the resource has no Conditions, and in admission handlers. In a request constructed in a
// test, it does nothing, unless kopftest.Pass has made the request and records the condition.
func (r *Request) SetCondition(condition metav1.Condition) error {
	if r.setCondition == nil {
		return nil
	}
	if err := r.setCondition(handlers.Condition(condition)); err != nil {
		return PermanentError{Err: err}
	}
	return nil
}
