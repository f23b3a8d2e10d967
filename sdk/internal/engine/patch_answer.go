package engine

import (
	"context"
	"errors"
	"log/slog"
	"slices"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// maxConflicts is how many attempts are made at a change that conflicts with changes by others.
const maxConflicts = 10

// patchAnswer is what the API server's answer to a PATCH request means.
type patchAnswer int

const (
	patchAccepted patchAnswer = iota
	patchGone                 // the object does not exist
	patchConflict             // another change came first; the same request can succeed
	patchOutdated             // a JSON patch is for another version of the object than the newest
	patchRejected             // the same request never succeeds, whatever the object becomes
	patchFailed               // anything else: the network, the server, permissions
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
	case class == kube.Invalid && isJSONPatch:
		return patchOutdated
	default:
		return patchFailed
	}
}

// sendRequest sends a PATCH request. After a conflict it makes sure that the object still exists, and
// repeats the request.
func (d *deps) sendRequest(ctx context.Context, res *resources.Resource, obj *object.Object, call patch.Call, body []byte, logger *slog.Logger) (patch.Object, error) {
	for attempt := 1; ; attempt++ {
		patched, err := d.client.Patch(ctx, res, obj.Namespace, obj.Name, call.Subresource, call.ContentType, body)
		switch classifyAnswer(err, call.ContentType) {
		case patchAccepted:
			return patched, nil
		case patchGone:
			return nil, patch.ErrGone
		case patchOutdated:
			return nil, patch.ErrOutdated
		case patchRejected:
			if call.ContentType == patch.JSONType && kube.IsInvalidObject(err) {
				err = &transformError{err}
			}
			return nil, err
		case patchConflict:
			if attempt == maxConflicts || pinsVersion(call) {
				return nil, err
			}
		case patchFailed:
			return nil, err
		}
		logger.Debug("Patch conflicts with another change; repeating it", observe.EventKey, observe.LogPatchRepeated, "error", err)
		newest, err := newestVersion(ctx, d.client, res, obj.Namespace, obj.Name, obj.UID)
		if err != nil {
			return nil, err
		}
		if newest == nil {
			return nil, patch.ErrGone
		}
	}
}

// pinsVersion reports whether a handler wants a merge patch to apply to one version of the object
// only.
func pinsVersion(call patch.Call) bool {
	merge, _ := call.Payload.(map[string]any)
	_, pinned := object.Metadata(merge)["resourceVersion"]
	return pinned
}

// newestVersion lists the newest version of an object; nil if it does not exist anymore. Operators
// need no permission to get single objects.
func newestVersion(ctx context.Context, client *kube.Client, res *resources.Resource, namespace, name, uid string) (*object.Object, error) {
	list, err := client.List(ctx, res, namespace, kube.ListOptions{FieldSelector: "metadata.name=" + name})
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(list.Items, func(o *object.Object) bool { return o.UID == uid })
	if i < 0 {
		return nil, nil
	}
	return list.Items[i], nil
}

// isRejected reports whether a patch failed because of its merge patches: the API server rejects
// them, or they conflict for too long.
func isRejected(err error) bool {
	var transform *transformError
	if err == nil || errors.As(err, &transform) {
		return false
	}
	answer := classifyAnswer(err, patch.MergeType)
	return answer == patchRejected || answer == patchConflict
}

// isHopeless reports whether the same transformations would fail again, and prevent everything else,
// such as the removal of the finalizer.
func isHopeless(err error) bool {
	var panicked *handlers.PanicError
	var transform *transformError
	return errors.As(err, &transform) || errors.As(err, &panicked)
}

// transformError is the error of transformations that fail, or that make an object of which the API
// server rejects.
type transformError struct{ err error }

// Error implements the error interface.
func (e *transformError) Error() string {
	return "transform the object: " + e.err.Error()
}

// Unwrap returns the reason.
func (e *transformError) Unwrap() error { return e.err }
