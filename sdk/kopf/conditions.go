package kopf

import (
	"errors"
	"runtime"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kopf-dev/kopf/sdk/internal/engine/conditions"
)

// Conditions makes the operator keep the conditions Ready, Reconciling and Stalled and the field observedGeneration in the status of
// the objects of a resource, so that "kubectl wait --for=condition=Ready" works. The conditions follow from the outcomes of the change
// handlers, from the outcome of the [OnReconcile] handler, and from the readiness of the children. Objects without such handlers, and
// objects that are being deleted, keep the conditions that they have.
//
// The operator writes the conditions with server-side apply, under a field manager of its own, and only if the object has
// others. The definition of the resource must declare the list status.conditions, as a map by type: see [Status and conditions].
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

// SetCondition sets a condition of the object, of a resource with [Conditions]. The operator writes the condition after
// the handler, whatever the handler returns, and keeps it until SetCondition sets another one of this type. A condition without a
// Status removes the condition. The operator fills in the LastTransitionTime, which changes with the Status only, and an
// ObservedGeneration of 0.
//
// The error is permanent: the type is Ready, Reconciling or Stalled; the condition has no Reason or another invalid field; or
// the handler is an admission handler. In a request constructed in a test, SetCondition does nothing.
func (r *Request) SetCondition(condition metav1.Condition) error {
	if r.setCondition == nil {
		return nil
	}
	if err := r.setCondition(condition); err != nil {
		return PermanentError{Err: err}
	}
	return nil
}
