package outbox

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/redact"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// requester sends the requests of one patch of one object, one after the other.
type requester struct {
	deps     *core.Deps
	ctx      context.Context //nolint:containedctx // it lives as long as the call that has the context
	resource *resources.Resource
	object   *object.Object // version that the patch is based on
	newest   *object.Object // newest known version
	guarded  bool           // see [requester.guard]
	logger   *slog.Logger
	subject  *observe.Subject // nil for daemons, whose pending requests are not reported
}

// SendPatch sends a patch of an object in as few requests as possible. If guarded is set, the first status request is
// guarded too (see guard), so that it cannot change another object of the same name. Pending requests are reported for
// the subject; nil disables the reports.
func SendPatch(ctx context.Context, d *core.Deps, res *resources.Resource, obj *object.Object, p *patch.Patch, guarded bool, logger *slog.Logger, subject *observe.Subject) (result patch.Result, err error) {
	r := &requester{deps: d, ctx: ctx, resource: res, object: obj, newest: obj, guarded: guarded, logger: logger, subject: subject}
	panicked := core.WithRecovery(func() {
		result, err = p.Send(obj, res.HasSubresource("status"), patch.Requests{Send: r.send, Landed: r.landed})
	})
	switch {
	case panicked != nil && r.newest != obj:
		// A transformation has panicked after the other changes were sent, so the version that they made must be handled next.
		return patch.Result{Object: r.newest}, panicked
	case panicked != nil:
		return result, panicked
	case errors.Is(err, patch.ErrTransform):
		err = &transformError{err}
	}
	return result, err
}

// send sends a PATCH request, and redacts secret values in the log and the error.
func (r *requester) send(call patch.Call) (patch.Object, error) {
	secrets := r.deps.Settings.Redaction.Of(r.resource, r.object)
	logPatch(r.logger, call, secrets)
	patched, err := r.sendUntilAnswered(call)
	if err != nil && r.newest != r.object { // the API server may quote values of both versions
		secrets = r.deps.Settings.Redaction.Of(r.resource, r.object, r.newest)
	}
	return patched, secrets.Error(err, call.Payload)
}

// sendUntilAnswered sends a PATCH request. After a conflict or a 404, it reads the newest version of the object, and
// repeats the request if the object exists. A JSON patch is not repeated for a newer version: it fails as outdated.
func (r *requester) sendUntilAnswered(call patch.Call) (patch.Object, error) {
	merge, _ := call.Payload.(map[string]any)
	if err := checkPinnedVersion(merge); err != nil {
		return nil, err
	}
	missing, repeated := false, false
	for attempt := 1; ; attempt++ {
		patched, again, err := r.request(call)
		repeated = repeated || again // an earlier request may have been applied, whatever the last answer is
		answer := classifyAnswer(err, call.ContentType == patch.JSONType)
		if answer == answerRejected && kube.IsOtherUID(err) && !setsMetadata(merge, "uid") {
			answer = answerGone // refused because of the UID in the guard
		}
		switch answer {
		case answerAccepted:
			return r.accept(patched)
		case answerRejected, answerDoubted, answerDenied:
			if call.ContentType == patch.JSONType {
				err = &transformError{err}
			}
			return nil, err
		case answerConflict:
			if setsMetadata(merge, "resourceVersion") {
				return nil, fmt.Errorf("%w: %w", errPinned, err)
			}
			if attempt >= MaxConflicts {
				return nil, err
			}
		case answerFailed:
			return nil, err
		case answerOutdated, answerGone:
		}
		newest, listErr := r.deps.NewestVersion(r.ctx, r.resource, r.object.Namespace, r.object.Name, r.object.UID)
		switch {
		case listErr != nil:
			return nil, listErr
		case newest == nil:
			return nil, patch.ErrGone
		case answer == answerOutdated && newest.ResourceVersion == call.Version():
			return nil, &transformError{err} // refused by an admission webhook, so a newer version will not follow
		case answer == answerOutdated && repeated:
			return nil, patch.ErrRepeated
		case answer == answerOutdated:
			return nil, patch.ErrOutdated
		case answer == answerGone && missing:
			return nil, fmt.Errorf("the object exists, but the API server does not find it: %w", err)
		}
		r.newest, r.guarded, missing = newest, true, answer == answerGone
		r.logger.Debug("Patch conflicts with another change; repeating it", observe.EventKey, observe.LogPatchRepeated, "error", err)
	}
}

func (r *requester) request(call patch.Call) (patched *object.Object, repeated bool, err error) {
	request := kube.PatchRequest{
		Namespace: r.object.Namespace, Name: r.object.Name, Subresource: call.Subresource, ContentType: call.ContentType,
	}
	merge, ok := call.Payload.(map[string]any)
	switch {
	case !ok || r.object.UID == "": // a JSON patch tests the version
		request.Body, err = patch.Body(call.Payload)
	case call.Subresource == "" || r.guarded:
		request.Body, err = r.guard(call, merge)
	default:
		request.Body, err = patch.Body(merge)
		request.Repeat = func() ([]byte, error) { return r.guard(call, merge) }
	}
	if err != nil {
		return nil, false, err
	}
	defer reportPending(r.deps, r.subject, call.Subresource)()
	return r.deps.Client.SendPatch(r.ctx, r.resource, request)
}

// guard returns the body of a merge patch with the UID of the object, so that it cannot change a successor of the same
// name. The API server does not check the UID of custom resources in status requests, so these requests also have the
// newest resourceVersion.
func (r *requester) guard(call patch.Call, merge map[string]any) ([]byte, error) {
	guards := map[string]any{}
	if !setsMetadata(merge, "uid") {
		guards["uid"] = r.object.UID
	}
	if call.Subresource != "" && !setsMetadata(merge, "resourceVersion") {
		guards["resourceVersion"] = r.newest.ResourceVersion
	}
	return patch.Body(patch.Merged(merge, map[string]any{"metadata": guards}))
}

// accept checks the response to an accepted request.
func (r *requester) accept(patched *object.Object) (patch.Object, error) {
	switch {
	case patched.UID != r.object.UID:
		return nil, r.misplaced(patched)
	case object.Precedes(patched.ResourceVersion, r.newest.ResourceVersion):
		return nil, fmt.Errorf("the answer has version %s, which is older than %s", patched.ResourceVersion, r.newest.ResourceVersion)
	}
	r.newest = patched
	return patched, nil
}

// misplaced returns the error of a request that was answered with another object.
func (r *requester) misplaced(patched *object.Object) error {
	newest, err := r.deps.NewestVersion(r.ctx, r.resource, r.object.Namespace, r.object.Name, r.object.UID)
	switch {
	case err != nil:
		return err
	case newest != nil || patched.UID == "":
		return fmt.Errorf("the answer has the uid %q, while the object has %q", patched.UID, r.object.UID)
	}
	r.logger.Error(fmt.Sprintf("The object was deleted and made again while it was handled; the patch has reached the new one, with uid %s. "+
		"If its handlers are not called, remove the operator's annotations from it", patched.UID), observe.EventKey, observe.LogPatchMisplaced)
	return patch.ErrGone
}

// landedTimeout limits the wait for the version that follows the request's version.
const landedTimeout = 10 * time.Second

// landed reports whether a JSON patch without a response was applied. A JSON patch applies to one version only, so it
// was applied exactly if it made the next version.
func (r *requester) landed(call patch.Call) (newest patch.Object, landed bool, err error) {
	current, err := r.deps.NewestVersion(r.ctx, r.resource, r.object.Namespace, r.object.Name, r.object.UID)
	switch {
	case err != nil:
		return nil, false, err
	case current == nil:
		return nil, false, patch.ErrGone
	case current.ResourceVersion == call.Version():
		return current, false, nil
	}
	next, err := r.versionAfter(call.Version())
	if err != nil {
		r.logger.Debug("Cannot look at the version after a patch whose answer was lost; looking at the newest one",
			observe.EventKey, observe.LogPatchRepeated, "error", err)
		next = current
	}
	tree, err := next.Tree()
	if err != nil {
		return nil, false, err
	}
	r.newest = current
	return current, call.Applied(tree), nil
}

// versionAfter returns the version of the object that follows the given one.
func (r *requester) versionAfter(version string) (*object.Object, error) {
	ctx, cancel := context.WithTimeout(r.ctx, landedTimeout)
	defer cancel()
	stream, err := r.deps.Client.Watch(ctx, r.resource, r.object.Namespace, kube.ListOptions{
		FieldSelector: "metadata.name=" + r.object.Name, ResourceVersion: version, Timeout: landedTimeout,
	})
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	for {
		frame, err := stream.Next()
		switch {
		case err != nil:
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		case frame.Type == object.EventError:
			return nil, fmt.Errorf("watch from version %s: %s", version, frame.Status)
		case frame.Type != object.EventBookmark && frame.Object.UID == r.object.UID:
			return frame.Object, nil
		}
	}
}

// pendingAfter is the time without a response after which a request is reported. Typical responses take milliseconds.
const pendingAfter = 2 * time.Second

// reportPending emits PatchPending if a PATCH takes longer than pendingAfter. The returned function ends the report. A
// nil subject disables it.
func reportPending(d *core.Deps, subject *observe.Subject, subresource string) (ended func()) {
	if subject == nil {
		return func() {}
	}
	since, reported := d.Now(), make(chan struct{})
	timer := time.AfterFunc(pendingAfter, func() {
		defer close(reported)
		observe.Emit(d.Sink, observe.PatchPending{Subject: subject, Subresource: subresource, Since: since})
	})
	return func() {
		if !timer.Stop() {
			<-reported
			observe.Emit(d.Sink, observe.PatchPending{Subject: subject, Subresource: subresource})
		}
	}
}

// checkPinnedVersion rejects a merge patch with an impossible resourceVersion. The API server would respond with status
// 500, as if a retry could succeed.
func checkPinnedVersion(merge map[string]any) error {
	version, _ := object.Metadata(merge)["resourceVersion"].(string)
	if version == "" {
		return nil
	}
	if _, err := strconv.ParseUint(version, 10, 64); err != nil {
		return apierrors.NewBadRequest(fmt.Sprintf("the resourceVersion %q of the patch is not a number", version))
	}
	return nil
}

func logPatch(logger *slog.Logger, call patch.Call, secrets *redact.Secrets) {
	if !logger.Enabled(context.Background(), slog.LevelDebug) {
		return
	}
	kind := "Merge-patching the "
	if call.ContentType == patch.JSONType {
		kind = "JSON-patching the "
	}
	logger.Debug(kind+cmp.Or(call.Subresource, "resource")+".", observe.EventKey, observe.LogPatchSent,
		"patch", loggedPayload{secrets.Payload(call.Payload)})
}

// loggedPayload formats a request body only when a log line is printed.
type loggedPayload struct{ body any }

// String returns the body as JSON.
func (p loggedPayload) String() string {
	text, err := json.Marshal(p.body)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
