package engine

import (
	"context"
	"reflect"
	"slices"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// cohort are streams that begin together: those that there are at the start of the operator,
// or after a pause, or those of a new resource or namespace. The objects of none of them
// are handled before the objects of all of them are indexed.
type cohort struct {
	gate    *queue.Gate
	waited  bool // for any stream
	pending int  // streams whose objects are not all indexed yet
	opened  bool
}

// join makes a stream that is about to begin a member of the newest cohort. A cohort that
// still waits takes newcomers in: what they bring is to be known to all handlers, too.
func (e *ensemble) join(ctx context.Context, d dimension, s *stream) {
	if e.cohort == nil || e.cohort.opened {
		e.cohort = &cohort{gate: new(queue.Gate)}
	}
	s.cohort = e.cohort
	server, indexer := e.servers[d.resource], e.indexers[d]
	if indexer != nil {
		indexer.leave(server.indexed)
	}
	if len(server.indexed) == 0 {
		delete(e.indexers, d)
		return
	}
	s.cohort.pending++
	s.cohort.waited = true
	if indexer == nil || indexer.abandoned {
		indexer = newIndexer(d)
		e.indexers[d] = indexer
	}
	indexer.begin(ctx, server)
	s.indexer = indexer
}

// reindexes tells whether a resource was redefined so that other indexing functions are for it
// now than when its stream began, or handlers for what was only indexed. All its objects have to
// be listed again then.
func (e *ensemble) reindexes(d dimension, res *resources.Resource) bool {
	s := e.servers[d.resource]
	if s == nil || reflect.DeepEqual(s.resource, res) {
		return false
	}
	now := e.operator.server(res).after(s)
	if now.onlyIndexed == s.onlyIndexed &&
		slices.Equal(now.handlers.Handlers(handlers.Indexing), s.handlers.Handlers(handlers.Indexing)) {
		return false
	}
	e.paused = true
	return true
}

// indexed notes that a stream need not be waited for any more.
func (e *ensemble) indexed(s *stream) {
	if s.indexer != nil {
		s.cohort.pending--
		e.open(s.cohort)
	}
}

// open lets the objects of a cohort be handled if there is nothing to wait for.
func (e *ensemble) open(c *cohort) {
	if c == nil || c.opened || c.pending > 0 {
		return
	}
	c.opened = true
	e.operator.queue.Open(c.gate)
	if c.waited {
		e.operator.logger.Debug("The indices are complete: handlers may be called.")
	}
}

// blocks tells whether handlers wait for a stream to be listed.
func (e *ensemble) blocks(d dimension) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.streams[d]
	return s != nil && s.indexer != nil && !s.listed && !s.cohort.opened
}

// handle takes an event to where it belongs.
func (s *stream) handle(queue *queue.Queue, d dimension, event watch.Event) {
	if s.indexer != nil {
		s.indexer.handle(event)
		if s.indexer.onlyIndexed {
			return
		}
	}
	queue.PutBehind(s.cohort.gate, d.resource, event)
}

// await waits until a stream has ended. Only an indexing function that does not heed its
// context can keep it from that, and must not keep the operator.
func (e *ensemble) await(d dimension, s *stream) {
	if s.indexer == nil {
		<-s.done
		return
	}
	limit := time.NewTimer(max(0, e.operator.settings.ExitTimeout) + queue.AbandonAfter)
	defer limit.Stop()
	select {
	case <-s.done:
	case <-limit.C:
		e.mu.Lock()
		s.indexer.abandoned = true // it cannot serve the next stream
		e.mu.Unlock()
		e.operator.logger.Warn("An indexing function ignores that the watch-stream for " + d.String() + " has ended: it is left alone.")
	}
}
