package outbox

import (
	"sync"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
)

// pendingAfter is the time after which a request without an answer is reported. Usual answers take milliseconds.
const pendingAfter = 2 * time.Second

// reportPending reports a PATCH of a subject that takes long, until the returned function is called. It does nothing for a
// nil subject.
func reportPending(d *core.Deps, subject *observe.Subject, subresource string) (ended func()) {
	if subject == nil {
		return func() {}
	}
	var mu sync.Mutex // orders the reports
	over, reported := false, false
	since := d.Now()
	timer := time.AfterFunc(pendingAfter, func() {
		mu.Lock()
		defer mu.Unlock()
		if !over {
			reported = true
			observe.Tell(d.Sink, observe.PatchPending{Subject: subject, Subresource: subresource, Since: since})
		}
	})
	return func() {
		timer.Stop()
		mu.Lock()
		defer mu.Unlock()
		over = true
		if reported {
			observe.Tell(d.Sink, observe.PatchPending{Subject: subject, Subresource: subresource})
		}
	}
}
