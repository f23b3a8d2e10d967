package engine

import (
	"sync"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/observe"
)

// pendingAfter is the time after which a request without an answer is reported. Usual answers take milliseconds.
const pendingAfter = 2 * time.Second

// reportPending reports a PATCH that takes long, until the returned function is called.
func (r *requester) reportPending(subresource string) (ended func()) {
	if r.subject == nil {
		return func() {}
	}
	var mu sync.Mutex // orders the reports
	over, reported := false, false
	since := r.deps.now()
	timer := time.AfterFunc(pendingAfter, func() {
		mu.Lock()
		defer mu.Unlock()
		if !over {
			reported = true
			observe.Tell(r.deps.sink, observe.PatchPending{Subject: r.subject, Subresource: subresource, Since: since})
		}
	})
	return func() {
		timer.Stop()
		mu.Lock()
		defer mu.Unlock()
		over = true
		if reported {
			observe.Tell(r.deps.sink, observe.PatchPending{Subject: r.subject, Subresource: subresource})
		}
	}
}
