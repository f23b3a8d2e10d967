package engine

import (
	"errors"
	"net/http"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
)

// maxConflicts is how many attempts are made at a change that conflicts with changes by others.
const maxConflicts = 10

// patchAnswer is what the API server's answer to a PATCH request means.
type patchAnswer int

const (
	patchAccepted patchAnswer = iota
	patchGone                 // the object does not exist, if that proves to be true
	patchConflict             // another change came first; the same request can succeed
	patchOutdated             // a JSON patch is for another version of the object than the newest, if that proves to be true
	patchRejected             // the same request never succeeds, whatever the object becomes
	patchDenied               // permissions are missing, or an admission webhook denies the change
	patchFailed               // anything else: the network, the server
)

// classifyAnswer classifies the error of a PATCH request.
func classifyAnswer(err error, contentType string) patchAnswer {
	isJSONPatch := contentType == patch.JSONType
	if err == nil {
		return patchAccepted
	}
	switch class := kube.Classify(err); {
	case class == kube.NotFound:
		return patchGone
	case class == kube.Conflict && isJSONPatch:
		return patchOutdated
	case class == kube.Conflict:
		return patchConflict
	case kube.IsPermanent(err):
		return patchRejected
	case class == kube.Forbidden:
		return patchDenied
	case class == kube.Invalid && isJSONPatch:
		return patchOutdated
	case class == kube.Invalid:
		return patchDenied // without a field that is wrong, as an admission webhook can answer
	default:
		return patchFailed
	}
}

// pinsVersion reports whether a handler wants a merge patch to apply to one version of the object
// only.
func pinsVersion(call patch.Call) bool { return setsMetadata(call, "resourceVersion") }

func setsMetadata(call patch.Call, field string) bool {
	merge, _ := call.Payload.(map[string]any)
	_, sets := object.Metadata(merge)[field]
	return sets
}

// isRejected reports whether the API server does not want a change: it rejects or denies it, or the change
// conflicts for too long.
func isRejected(err error) bool {
	switch answerBy(err) {
	case patchRejected, patchDenied, patchConflict, patchOutdated:
		return true
	default:
		return false
	}
}

// errPinned is wrapped by the error of a merge patch for a version that is not the newest.
var errPinned = errors.New("the patch names a resourceVersion that is outdated")

// isRefused reports whether the API server refuses a patch whatever the object becomes.
func isRefused(err error) bool {
	return err != nil && (errors.Is(err, errPinned) || classifyAnswer(err, patch.MergeType) == patchRejected)
}

// isHopeless reports whether the same transformations would fail again, and prevent everything else,
// such as the removal of the finalizer. They have been rejected some times before.
func isHopeless(err error, rejections int) bool {
	var panicked *handlers.PanicError
	return errors.As(err, &panicked) || isTransform(err) && isLasting(err, rejections)
}

// isLasting reports whether a change that was rejected some times before is going to be rejected again.
// Conflicts are expected to end, and permissions to be granted. A bad request may be the fault of something
// in between, the first time.
func isLasting(rejection error, rejections int) bool {
	switch answerBy(rejection) {
	case patchConflict, patchDenied, patchOutdated:
		return rejections >= maxConflicts
	default:
		return kube.Status(rejection) != http.StatusBadRequest || rejections > 0
	}
}

// answerBy classifies the error of a patch, which tells by which kind of request it was made.
func answerBy(err error) patchAnswer {
	if isTransform(err) {
		return classifyAnswer(err, patch.JSONType)
	}
	return classifyAnswer(err, patch.MergeType)
}

// isTransform reports whether a patch failed because of its transformations.
func isTransform(err error) bool {
	var transform *transformError
	return errors.As(err, &transform)
}

// transformError is the error of transformations that fail, or that make an object which the API
// server rejects.
type transformError struct{ err error }

// Error implements the error interface.
func (e *transformError) Error() string {
	return "transform the object: " + e.err.Error()
}

// Unwrap returns the reason.
func (e *transformError) Unwrap() error { return e.err }
