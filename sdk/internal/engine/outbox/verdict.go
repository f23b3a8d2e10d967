package outbox

import (
	"errors"
	"net/http"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// MaxConflicts limits the attempts at a change that conflicts with changes by others.
const MaxConflicts = 10

// patchAnswer is the meaning of the API server's answer to a PATCH request.
type patchAnswer int

const (
	answerAccepted patchAnswer = iota
	answerGone                 // the object does not exist; to be verified
	answerConflict             // another change came first; the same request can succeed
	answerOutdated             // the JSON patch is not for the newest version; to be verified
	answerRejected             // the same request never succeeds, whatever the object becomes
	answerDoubted              // rejected with 400, by the API server or by a proxy
	answerDenied               // permissions are missing, or an admission webhook denies the change
	answerFailed               // any other failure, for example of the network or the server
)

func classifyAnswer(err error, isJSONPatch bool) patchAnswer {
	switch class := kube.Classify(err); {
	case err == nil:
		return answerAccepted
	case class == kube.NotFound:
		return answerGone
	case class == kube.Conflict && isJSONPatch:
		return answerOutdated
	case class == kube.Conflict:
		return answerConflict
	case kube.Status(err) == http.StatusBadRequest:
		return answerDoubted
	case kube.IsPermanent(err):
		return answerRejected
	case class == kube.Forbidden:
		return answerDenied
	case class == kube.Invalid && isJSONPatch:
		return answerOutdated
	case class == kube.Invalid:
		return answerDenied // the error has no invalid field, so an admission webhook may have denied the change
	default:
		return answerFailed
	}
}

// setsMetadata reports whether a merge patch sets a field of the metadata. With the resourceVersion, it is for one version of the object.
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
var patience = map[patchAnswer]int{
	answerConflict: MaxConflicts, answerDenied: MaxConflicts, answerOutdated: MaxConflicts, answerDoubted: 1, answerRejected: 0,
}

// verdictOn returns the fate of the part that a request was about, given its number of earlier refusals. Transformations
// can also fail without an answer of the API server. The operator's records are never dropped.
func verdictOn(answer patchAnswer, about writtenPart, refusals int) verdict {
	limit, refused := patience[answer]
	switch {
	case about == theRecords, answer == answerAccepted, !refused && about != theTransformations:
		return repeatIt
	case about == thePinned, refusals >= limit:
		return dropIt
	default:
		return keepIt
	}
}

// errPinned is wrapped by the error of a merge patch for a version that is not the newest.
var errPinned = errors.New("the patch names a resourceVersion that is outdated")

// DropsAll reports whether a daemon's patch is refused permanently. A first bad request counts as permanent, too.
func DropsAll(err error) bool {
	about := theChanges
	switch {
	case failsTransformations(err):
		about = theTransformations
	case errors.Is(err, errPinned):
		about = thePinned
	}
	return verdictOn(classifyAnswer(err, about == theTransformations), about, 1) == dropIt
}

// failsTransformations reports whether a patch failed because of its transformations.
func failsTransformations(err error) bool {
	_, refused := errors.AsType[*transformError](err)
	_, panicked := errors.AsType[*handlers.PanicError](err)
	return refused || panicked
}

// transformError is the error of transformations that fail, or whose result the API server rejects.
type transformError struct{ err error }

func (e *transformError) Error() string { return "transform the object: " + e.err.Error() }
func (e *transformError) Unwrap() error { return e.err }
