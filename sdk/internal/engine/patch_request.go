package engine

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// maxConflicts is how many attempts are made at a change that conflicts with changes by others.
const maxConflicts = 10

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
