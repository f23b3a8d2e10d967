package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// patchTimeout limits the last patches of an operator that is stopping, after its time to exit is
// over. The queue waits slightly longer, so that they end before the operator does.
const patchTimeout = queue.AbandonAfter - 100*time.Millisecond

// maxConflicts is how many attempts are made at a change that conflicts with changes by others.
const maxConflicts = 10

// apply sends what the cycle has collected: the changes by handlers and the operator's own. It
// reports whether that changed the object, so that a new event arrives.
func (c *cycle) apply(ctx context.Context) (changed bool, err error) {
	if c.batch.Ended() {
		if !c.patch.Empty() || !c.ownPatch.Empty() {
			c.logger.Debug("Patching was skipped: the object does not exist anymore.", observe.EventKey, observe.LogPatchSkipped)
		}
		c.gone = true
		return false, nil
	}
	if !c.patch.Empty() || !c.ownPatch.Empty() {
		if err := c.progress.Touch(c.stored, "", c.ownPatch); err != nil {
			return false, err
		}
	}
	return c.sendCollected(ctx)
}

// sendCollected sends the changes by handlers together with the operator's own. If the API server
// rejects the former, the operator's own changes are sent alone, so that no outcome is lost.
func (c *cycle) sendCollected(ctx context.Context) (changed bool, err error) {
	requested, transforms := !c.patch.Empty(), c.patch.Fns() // by handlers
	if c.mergePatches(); c.patch.Empty() {
		return false, nil
	}
	changed, err = c.send(ctx, c.patch)
	if requested && isRejected(err) {
		changed, err = c.sendOwnPatch(ctx, transforms, err)
	}
	switch {
	case err != nil && !isHopeless(err): // the next cycle tries the same transformations
	case c.postponed && err == nil:
		// Only those of handlers, which are not called again for them. The finalizer is decided on
		// again.
		c.memory.transforms = transforms
	default:
		c.memory.transforms = nil
	}
	return changed, err
}

// mergePatches adds the operator's own changes to those of handlers, as far as they fit.
func (c *cycle) mergePatches() {
	if c.patch.Empty() {
		c.patch = c.ownPatch
	} else {
		c.patch = c.patch.Take() // abandoned handlers may still change the old one
		c.patch.Append(c.ownPatch)
	}
	c.memory.annotations.fit(c.logger, c.tree, c.patch, c.ownPatch)
}

// sendOwnPatch sends what remains of a patch that the API server rejected: the operator's own changes
// and the transformations, which are requests of their own. Without them, the handlers would be
// called again and again with the same result.
func (c *cycle) sendOwnPatch(ctx context.Context, transforms []patch.Fn, rejection error) (changed bool, err error) {
	c.logger.With(observe.ErrorAttrs(rejection)...).Error("API server rejected the handlers' patch; discarding it", observe.EventKey, observe.LogPatchRejected)
	for _, transform := range transforms {
		c.ownPatch.AddFn(transform)
	}
	c.memory.annotations.fit(c.logger, c.tree, c.ownPatch, c.ownPatch)
	if c.patch = c.ownPatch; c.patch.Empty() {
		return false, nil
	}
	return c.send(ctx, c.patch)
}

// send sends a patch, and remembers the version that it makes, so that no handler is selected by an
// older one. It reports whether there will be an event of the patch.
func (c *cycle) send(ctx context.Context, p *patch.Patch) (changed bool, err error) {
	ctx, cancel := withGrace(ctx, patchTimeout)
	defer cancel()
	result, err := c.deps.sendPatch(ctx, c.served.resource, c.object, p, c.logger)
	patched, _ := result.Object.(*object.Object)
	if patched != nil {
		// Even after an error: the earlier requests of the patch succeeded.
		c.memory.ownVersion, c.memory.ownDeadline = patched.ResourceVersion, c.deps.now().Add(c.deps.settings.ConsistencyTimeout)
	}
	switch {
	case err != nil:
		return false, fmt.Errorf("patch %s: %w", c.object, err)
	case result.Gone:
		c.logger.Debug("Patching was skipped: the object does not exist anymore.", observe.EventKey, observe.LogPatchSkipped)
		return true, nil
	case result.Remaining != nil:
		c.logger.Debug("Patching was postponed: the object has changed meanwhile.", observe.EventKey, observe.LogPatchPostponed)
		changed, c.postponed = true, true
	case c.finalizer == finalizerRemoved && patched != nil && patched.Deleting:
		// The object is gone, unless others hold it: there may be no event of this version.
		c.memory.released, c.memory.ownVersion = true, ""
		return true, nil
	}
	if patched == nil {
		return changed, nil
	}
	c.memory.warnPruned(c.logger, c.served.resource, p, patched)
	c.patched = patched
	return changed || patched.ResourceVersion != c.object.ResourceVersion, nil
}

// sendPatch sends a patch of an object in as few requests as possible.
func (d *deps) sendPatch(ctx context.Context, res *resources.Resource, obj *object.Object, p *patch.Patch, logger *slog.Logger) (result patch.Result, err error) {
	defer recoverPanic(&err)
	result, err = p.Send(obj, res.HasSubresource("status"), func(call patch.Call) (patch.Object, error) {
		logPatch(logger, call)
		body, err := json.Marshal(call.Payload)
		if err != nil {
			return nil, err
		}
		return d.sendRequest(ctx, res, obj, call, body, logger)
	})
	if errors.Is(err, patch.ErrTransform) {
		err = &transformError{err}
	}
	return result, err
}

// sendRequest sends a PATCH request. After a conflict it makes sure that the object still exists, and
// repeats the request.
func (d *deps) sendRequest(ctx context.Context, res *resources.Resource, obj *object.Object, call patch.Call, body []byte, logger *slog.Logger) (patch.Object, error) {
	for attempt := 1; ; attempt++ {
		patched, err := d.client.Patch(ctx, res, obj.Namespace, obj.Name, call.Subresource, call.ContentType, body)
		switch meaningOf(err, call.ContentType) {
		case patchAccepted:
			return patched, nil
		case patchGone:
			return nil, patch.ErrGone
		case patchOutdated:
			return nil, patch.ErrOutdated
		case patchRejected:
			if call.ContentType == patch.JSONType && isInvalid(err) {
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

// meaningOf classifies the error of a PATCH request.
func meaningOf(err error, contentType string) patchAnswer {
	status := kube.Status(err)
	switch {
	case err == nil:
		return patchAccepted
	case status == http.StatusNotFound:
		return patchGone
	case status == http.StatusConflict && contentType == patch.JSONType:
		return patchOutdated
	case status == http.StatusConflict:
		return patchConflict
	case status == http.StatusBadRequest, status == http.StatusRequestEntityTooLarge, isInvalid(err):
		return patchRejected
	case status == http.StatusUnprocessableEntity && contentType == patch.JSONType:
		return patchOutdated
	default:
		return patchFailed
	}
}

// isInvalid reports whether the API server found mistakes in the object that a patch would make. The
// status is the same if the object does not pass the tests of a JSON patch, but with no causes.
func isInvalid(err error) bool {
	if kube.Status(err) != http.StatusUnprocessableEntity {
		return false
	}
	status, ok := errors.AsType[*apierrors.StatusError](err)
	return ok && status.ErrStatus.Details != nil &&
		slices.ContainsFunc(status.ErrStatus.Details.Causes, func(c metav1.StatusCause) bool {
			return c.Type != metav1.CauseTypeUnexpectedServerResponse
		})
}

// isRejected reports whether a patch failed because of its merge patches: the API server rejects
// them, or they conflict for too long.
func isRejected(err error) bool {
	var transform *transformError
	if err == nil || errors.As(err, &transform) {
		return false
	}
	answer := meaningOf(err, patch.MergeType)
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

// withGrace returns a context that ends some time after its parent: what handlers did must be
// recorded even if the operator is stopping.
func withGrace(ctx context.Context, grace time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(grace, cancel)
		context.AfterFunc(longer, func() { timer.Stop() })
	})
	return longer, func() {
		stop()
		cancel()
	}
}

func logPatch(logger *slog.Logger, call patch.Call) {
	if !logger.Enabled(context.Background(), slog.LevelDebug) {
		return
	}
	target := "the resource"
	if call.Subresource != "" {
		target = "the " + call.Subresource
	}
	kind := "Merge-patching"
	if call.ContentType == patch.JSONType {
		kind = "JSON-patching"
	}
	logger.Debug(kind+" "+target+".", observe.EventKey, observe.LogPatchSent, "patch", loggedPayload{call.Payload})
}

// loggedPayload formats the body of a request for log lines when it is printed.
type loggedPayload struct{ body any }

// String returns the body as JSON.
func (p loggedPayload) String() string {
	text, err := json.Marshal(p.body)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
