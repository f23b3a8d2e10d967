package engine

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// sendPatch sends a patch of an object in as few requests as possible. If it is guarded, the first attempt
// at the status is too, so that another object of the same name does not get it. Requests without an answer
// are reported for the subject, if there is one.
func (d *deps) sendPatch(ctx context.Context, res *resources.Resource, obj *object.Object, p *patch.Patch, guarded bool, logger *slog.Logger, subject *observe.Subject) (result patch.Result, err error) {
	defer recoverPanic(&err)
	r := &requester{deps: d, ctx: ctx, resource: res, object: obj, newest: obj, guarded: guarded, logger: logger, subject: subject}
	result, err = p.Send(obj, res.HasSubresource("status"), patch.Requests{Send: r.send, Landed: r.landed})
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
