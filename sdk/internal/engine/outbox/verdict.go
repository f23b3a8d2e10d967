package outbox

import (
	"errors"
	"net/http"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
)

// MaxConflicts is how many attempts are made at a change that conflicts with changes by others.
const MaxConflicts = 10

// PatchAnswer is the meaning of the API server's answer to a PATCH request.
type PatchAnswer int

// The meanings of an answer.
const (
	PatchAccepted PatchAnswer = iota
	PatchGone                 // the object does not exist, if that proves to be true
	PatchConflict             // another change came first; the same request can succeed
	PatchOutdated             // a JSON patch is for another version of the object than the newest, if that proves to be true
	PatchRejected             // the same request never succeeds, whatever the object becomes
	PatchDoubted              // the same, if it is the API server that says so
	PatchDenied               // permissions are missing, or an admission webhook denies the change
	PatchFailed               // anything else: the network, the server
)

// ClassifyAnswer classifies the error of a PATCH request.
func ClassifyAnswer(err error, contentType string) PatchAnswer {
	isJSONPatch := contentType == patch.JSONType
	if err == nil {
		return PatchAccepted
	}
	switch class := kube.Classify(err); {
	case class == kube.NotFound:
		return PatchGone
	case class == kube.Conflict && isJSONPatch:
		return PatchOutdated
	case class == kube.Conflict:
		return PatchConflict
	case kube.Status(err) == http.StatusBadRequest:
		return PatchDoubted
	case kube.IsPermanent(err):
		return PatchRejected
	case class == kube.Forbidden:
		return PatchDenied
	case class == kube.Invalid && isJSONPatch:
		return PatchOutdated
	case class == kube.Invalid:
		return PatchDenied // without a field that is wrong, as an admission webhook can answer
	default:
		return PatchFailed
	}
}

// pinsVersion reports whether a handler wants a merge patch to apply to one version of the object
// only.
func pinsVersion(merge map[string]any) bool { return setsMetadata(merge, "resourceVersion") }

func setsMetadata(merge map[string]any, field string) bool {
	_, sets := object.Metadata(merge)[field]
	return sets
}

// writtenPart is a part of the changes of an object.
type writtenPart int

const (
	theRecords         writtenPart = iota // the operator's own changes
	theChanges                            // fields that handlers have set
	thePinned                             // the same, for one version of the object only
	theTransformations                    // functions of handlers, which are requests of their own
)

// verdict is the fate of a part after an answer.
type verdict int

const (
	repeatIt verdict = iota // together with the rest
	keepIt                  // it is refused, perhaps for a while: the rest is sent without it now, and both later
	dropIt                  // it is refused for good
)

// patience is how often a refusal is believed to end. Conflicts are expected to, and permissions to be granted. A bad
// request may be the fault of a program in between, the first time.
var patience = map[PatchAnswer]int{
	PatchConflict: MaxConflicts, PatchDenied: MaxConflicts, PatchOutdated: MaxConflicts, PatchDoubted: 1, PatchRejected: 0,
}

// verdictOn returns the fate of the part that a request was about, which was refused some times before. Transformations
// fail without the API server too. The operator's records are never dropped.
func verdictOn(answer PatchAnswer, about writtenPart, refusals int) verdict {
	limit, refused := patience[answer]
	switch {
	case about == theRecords, answer == PatchAccepted, !refused && about != theTransformations:
		return repeatIt
	case about == thePinned, refusals >= limit:
		return dropIt
	default:
		return keepIt
	}
}

// answerAbout classifies the error of a patch, which was about a part of it.
func answerAbout(about writtenPart, err error) PatchAnswer {
	if about == theTransformations {
		return ClassifyAnswer(err, patch.JSONType)
	}
	return ClassifyAnswer(err, patch.MergeType)
}

// errPinned is wrapped by the error of a merge patch for a version that is not the newest.
var errPinned = errors.New("the patch names a resourceVersion that is outdated")

// DropsAll reports whether a patch of a daemon is refused for good. A bad request is not doubted there.
func DropsAll(err error) bool {
	about := theChanges
	switch {
	case FailsTransformations(err):
		about = theTransformations
	case errors.Is(err, errPinned):
		about = thePinned
	}
	return verdictOn(answerAbout(about, err), about, 1) == dropIt
}

// FailsTransformations reports whether a patch failed because of its transformations.
func FailsTransformations(err error) bool {
	var panicked *handlers.PanicError
	var transform *transformError
	return errors.As(err, &transform) || errors.As(err, &panicked)
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
