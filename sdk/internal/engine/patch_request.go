package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/redact"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// sendPatch sends a patch of an object in as few requests as possible. A guarded one names the uid from
// the first attempt on, so that another object of the same name does not get it.
func (d *deps) sendPatch(ctx context.Context, res *resources.Resource, obj *object.Object, p *patch.Patch, guarded bool, logger *slog.Logger) (result patch.Result, err error) {
	defer recoverPanic(&err)
	r := &requester{deps: d, ctx: ctx, resource: res, object: obj, newest: obj, guarded: guarded, logger: logger}
	result, err = p.Send(obj, res.HasSubresource("status"), patch.Requests{Send: r.send, Landed: r.landed})
	if errors.Is(err, patch.ErrTransform) {
		err = &transformError{err}
	}
	return result, err
}

// checkPinnedVersion rejects a merge patch for a version of the object that cannot exist. The API server
// answers it with 500, as if it could succeed later.
func checkPinnedVersion(call patch.Call) error {
	merge, _ := call.Payload.(map[string]any)
	version, _ := object.Metadata(merge)["resourceVersion"].(string)
	if version == "" {
		return nil
	}
	if _, err := strconv.ParseUint(version, 10, 64); err != nil {
		return apierrors.NewBadRequest(fmt.Sprintf("the patch is for the resourceVersion %q, which is none", version))
	}
	return nil
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
