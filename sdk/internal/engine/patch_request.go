package engine

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/redact"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// sendPatch sends a patch of an object in as few requests as possible.
func (d *deps) sendPatch(ctx context.Context, res *resources.Resource, obj *object.Object, p *patch.Patch, logger *slog.Logger) (result patch.Result, err error) {
	defer recoverPanic(&err)
	result, err = p.Send(obj, res.HasSubresource("status"), func(call patch.Call) (patch.Object, error) {
		secrets := d.settings.Redaction.Of(res, obj)
		logPatch(logger, call, secrets)
		body, err := json.Marshal(call.Payload)
		if err != nil {
			return nil, err
		}
		patched, err := d.sendRequest(ctx, res, obj, call, body, logger)
		return patched, secrets.Error(err, call.Payload)
	})
	if errors.Is(err, patch.ErrTransform) {
		err = &transformError{err}
	}
	return result, err
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

func logPatch(logger *slog.Logger, call patch.Call, secrets *redact.Secrets) {
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
	logger.Debug(kind+" "+target+".", observe.EventKey, observe.LogPatchSent, "patch", loggedPayload{secrets.Payload(call.Payload)})
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
