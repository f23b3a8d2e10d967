package outbox

import (
	"errors"
	"net/http"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
)

// MaxConflicts limits the attempts at a change that conflicts with changes by others.
const MaxConflicts = 10

// PatchAnswer is the meaning of the API server's answer to a PATCH request.
type PatchAnswer int

// The meanings of an answer.
const (
	PatchAccepted PatchAnswer = iota
	PatchGone                 // the object does not exist; to be verified
	PatchConflict             // another change came first; the same request can succeed
	PatchOutdated             // the JSON patch is not for the newest version; to be verified
	PatchRejected             // the same request never succeeds, whatever the object becomes
	PatchDoubted              // rejected with 400, by the API server or by a proxy
	PatchDenied               // permissions are missing, or an admission webhook denies the change
	PatchFailed               // any other failure, for example of the network or the server
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
		return PatchDenied // the error has no invalid field, so an admission webhook may have denied the change
	default:
		return PatchFailed
	}
}

// pinsVersion reports whether a handler made a merge patch for one version of the object only.
func pinsVersion(merge map[string]any) bool { return setsMetadata(merge, "resourceVersion") }

func setsMetadata(merge map[string]any, field string) bool {
	_, sets := object.Metadata(merge)[field]
	return sets
}

// writtenPart is a part of an object's unwritten changes.
type writtenPart int

const (
	theRecords         writtenPart = iota // the operator's own changes
	theChanges                            // fields set by handlers
	thePinned                             // fields set by handlers, for one version of the object only
	theTransformations                    // transformations by handlers, which have separate requests
)

// verdict is the fate of a part after a response.
type verdict int

const (
	repeatIt verdict = iota // send the part again together with the rest
	keepIt                  // the refusal may end: send the rest without the part now, and the part later
	dropIt                  // the refusal is permanent
)

// patience is the number of refusals to tolerate by answer. Conflicts end, and permissions can be granted. A proxy may
// cause a bad request once.
var patience = map[PatchAnswer]int{
	PatchConflict: MaxConflicts, PatchDenied: MaxConflicts, PatchOutdated: MaxConflicts, PatchDoubted: 1, PatchRejected: 0,
}

// verdictOn returns the fate of the part that a request was about, given its number of earlier refusals. Transformations
// can also fail without an answer of the API server. The operator's records are never dropped.
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

// answerAbout classifies the error of a patch that failed because of one part.
func answerAbout(about writtenPart, err error) PatchAnswer {
	if about == theTransformations {
		return ClassifyAnswer(err, patch.JSONType)
	}
	return ClassifyAnswer(err, patch.MergeType)
}

// errPinned is wrapped by the error of a merge patch for a version that is not the newest.
var errPinned = errors.New("the patch names a resourceVersion that is outdated")

// DropsAll reports whether a daemon's patch is refused permanently. A first bad request counts as permanent, too.
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
	_, refused := errors.AsType[*transformError](err)
	_, panicked := errors.AsType[*handlers.PanicError](err)
	return refused || panicked
}

// transformError is the error of transformations that fail, or whose result the API server rejects.
type transformError struct{ err error }

func (e *transformError) Error() string { return "transform the object: " + e.err.Error() }
func (e *transformError) Unwrap() error { return e.err }
