package observe

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// maxEarlyEvents limits the number of events that are kept until [Recorders.Start].
const maxEarlyEvents = 1000

// Recorders creates the recorders of an operator. Activities may use recorders before the cluster and the settings are known.
// Such events are kept until [Recorders.Start].
type Recorders struct {
	now   func() time.Time
	ready atomic.Pointer[posting]

	mu      sync.Mutex
	early   []func(posting)
	dropped int
}

// posting has the settings for posting Kubernetes events.
type posting struct {
	poster *Poster    // nil if the operator posts no events
	level  slog.Level // lowest level of posted events
}

// NewRecorders returns recorders that keep events until [Recorders.Start].
func NewRecorders(now func() time.Time) *Recorders { return &Recorders{now: now} }

// Start posts the kept events; later events are posted at once. The poster is nil if the operator posts no events. Start
// returns the number of events that were dropped because there were too many.
func (r *Recorders) Start(poster *Poster, level slog.Level) (dropped int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := posting{poster, level}
	for _, post := range r.early {
		post(p)
	}
	r.early = nil
	r.ready.Store(&p)
	return r.dropped
}

// For returns a recorder of events about objects. It is nil if the operator posts no events.
func (r *Recorders) For(refs ...ObjectReference) *Recorder {
	if p := r.ready.Load(); p != nil && p.poster == nil {
		return nil
	}
	return &Recorder{recorders: r, about: refs}
}

// record posts an event about each object. Before [Recorders.Start], it keeps the event.
func (r *Recorders) record(about []ObjectReference, level slog.Level, unleveled bool, content EventContent) {
	content.At = r.now()
	post := func(p posting) {
		if p.poster == nil || !unleveled && level < p.level {
			return
		}
		for _, ref := range about {
			p.poster.Post(ref, content)
		}
	}
	if p := r.ready.Load(); p != nil {
		post(*p)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch p := r.ready.Load(); {
	case p != nil:
		post(*p)
	case len(r.early) < maxEarlyEvents:
		r.early = append(r.early, post)
	default:
		r.dropped++
	}
}
