package outbox

import (
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
)

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
