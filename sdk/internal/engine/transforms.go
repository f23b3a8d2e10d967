package engine

import (
	"errors"
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
)

// transformError is about transformations that fail, or that make something of the object
// that the server refuses.
type transformError struct{ err error }

// Error tells what becomes of them.
func (e *transformError) Error() string {
	return "what was to be transformed is given up: " + e.err.Error()
}

// Unwrap returns the reason.
func (e *transformError) Unwrap() error { return e.err }

// invalid tells whether the server has found mistakes in the object that a patch would make.
// The status is the same for an object that has changed meanwhile, but then no causes are
// told, and the patch can be tried again.
func invalid(err error) bool {
	if kube.Status(err) != http.StatusUnprocessableEntity {
		return false
	}
	status, ok := errors.AsType[*apierrors.StatusError](err)
	return ok && status.ErrStatus.Details != nil &&
		slices.ContainsFunc(status.ErrStatus.Details.Causes, func(c metav1.StatusCause) bool {
			return c.Type != metav1.CauseTypeUnexpectedServerResponse
		})
}

// refused tells whether the server will never accept a merge patch, whatever becomes of the
// object.
func refused(err error) bool {
	var transform *transformError
	if err == nil || errors.As(err, &transform) {
		return false
	}
	switch kube.Status(err) {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge:
		return true
	default:
		return invalid(err)
	}
}

// hopeless tells whether to try the same transformations again would only fail again, and
// keep all else from being done, such as the release of an object that is being deleted.
func hopeless(err error) bool {
	var panicked *handlers.PanicError
	var transform *transformError
	return errors.As(err, &transform) || errors.As(err, &panicked)
}
