package engine

import (
	"context"
	"log/slog"
	"maps"
	"reflect"
	"sync"

	"github.com/kopf-dev/kopf/sdk/internal/daemons"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/index"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// ensemble are the streams of all resources in all namespaces that are served.
type ensemble struct {
	operator *operator

	mu      sync.Mutex
	servers map[string]*server // by the key of the resource
	streams map[dimension]*stream
	known   map[dimension]bool // whose objects may be remembered: those of the streams, in pauses too
	pending int                // streams whose objects are not all known yet
	paused  bool               // streams have ended that begin again: objects may have vanished unseen
	ready   func()

	indexers map[dimension]*indexer // of the streams of indexed resources, in pauses too
	cohort   *cohort                // of the newest streams
}

// dimension is one resource in one namespace, or in the cluster.
type dimension struct{ resource, namespace string }

func (d dimension) origin() index.Origin {
	return index.Origin{Resource: d.resource, Namespace: d.namespace}
}

func (d dimension) String() string {
	if d.namespace == "" {
		return d.resource + " cluster-wide"
	}
	return d.resource + " in " + d.namespace
}

type stream struct {
	cancel context.CancelFunc
	done   chan struct{}
	listed bool

	indexer *indexer // nil if there are no indices of the objects
	cohort  *cohort
}

func newEnsemble(o *operator) *ensemble {
	return &ensemble{
		operator: o, servers: map[string]*server{}, streams: map[dimension]*stream{}, known: map[dimension]bool{},
		indexers: map[dimension]*indexer{},
	}
}

// server returns who handles a resource; nil if it is not served.
func (e *ensemble) server(key string) *server {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.servers[key]
}

// keepsEvents tells whether there are handlers that want to see every event.
func (e *ensemble) keepsEvents(key string) bool {
	s := e.server(key)
	return s != nil && s.handlers.Has(handlers.Watching)
}

// adjust starts and stops streams so that they are those of the resources in the
// namespaces. The empty namespace is the cluster.
func (e *ensemble) adjust(ctx context.Context, rs []resources.Resource, namespaces []string) {
	wanted := map[dimension]*resources.Resource{}
	for i := range rs {
		res := &rs[i]
		if !res.Namespaced {
			wanted[dimension{res.Key(), ""}] = res
			continue
		}
		for _, ns := range namespaces {
			wanted[dimension{res.Key(), ns}] = res
		}
	}
	e.end(func(d dimension) bool { return wanted[d] == nil || e.reindexes(d, wanted[d]) })
	for d := range e.remembered() {
		if wanted[d] == nil {
			e.leave(d)
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	served := map[string]bool{}
	for d := range wanted {
		served[d.resource] = true
	}
	for key := range e.servers {
		if !served[key] {
			delete(e.servers, key)
		}
	}
	for d, res := range wanted {
		// A definition can change while its objects are served: get a status of its own, say.
		if s := e.servers[d.resource]; s != nil && s.resource != res && !reflect.DeepEqual(s.resource, res) {
			e.servers[d.resource] = e.operator.server(res).after(s)
		}
	}
	for d, res := range wanted {
		if e.streams[d] != nil {
			continue
		}
		if e.servers[d.resource] == nil {
			e.servers[d.resource] = e.operator.server(res)
		}
		e.operator.logger.Debug("Starting the watch-stream for " + d.String() + ".")
		e.streams[d] = e.start(ctx, d, res)
	}
	e.open(e.cohort)
	e.checkReady()
}

// pause ends all streams, and forgets what is queued. What is known of the objects stays:
// when they are listed again, they are no news.
func (e *ensemble) pause() {
	e.mu.Lock()
	e.paused = true
	e.mu.Unlock()
	e.end(func(dimension) bool { return true })
	e.operator.queue.Drop(func(queue.Key) bool { return true })
	for key, m := range e.operator.memories.all() {
		e.operator.endLater(key, m, daemons.OperatorPausing)
	}
}

// end stops streams, and waits until they have.
func (e *ensemble) end(which func(dimension) bool) {
	ended := map[dimension]*stream{}
	e.mu.Lock()
	for d, s := range e.streams {
		if !which(d) {
			continue
		}
		ended[d] = s
		delete(e.streams, d)
		if !s.listed {
			e.pending--
			e.indexed(s)
		}
		s.cancel()
	}
	e.mu.Unlock() // the streams may be about to tell something
	for d, s := range ended {
		e.await(d, s)
		e.operator.reporter.ended(d)
		e.operator.logger.Debug("Stopping the watch-stream for " + d.String() + ".")
	}
}

// remembered are the dimensions whose objects may be remembered.
func (e *ensemble) remembered() map[dimension]bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return maps.Clone(e.known)
}

// leave forgets the objects of a dimension that is not served any more.
func (e *ensemble) leave(d dimension) {
	e.forget(d, nil)
	e.mu.Lock()
	delete(e.known, d)
	indexer := e.indexers[d]
	delete(e.indexers, d)
	e.mu.Unlock()
	if indexer != nil {
		indexer.leave(nil)
	}
}

// forget forgets the objects of a dimension, but for those that are known to be there.
func (e *ensemble) forget(d dimension, but map[queue.Key]bool) {
	o := e.operator
	o.memories.retainMemos(d.origin(), but)
	gone := o.memories.forgetWhere(d.resource, func(key queue.Key, m *memory) bool {
		return (d.namespace == "" || m.namespace == d.namespace) && !but[key]
	})
	keys := make(map[queue.Key]bool, len(gone))
	for key, m := range gone {
		keys[key] = true
		m.report.Load().gone()
		o.endLater(key, m, daemons.ResourceDeleted)
	}
	o.queue.Drop(func(key queue.Key) bool { return keys[key] })
}

func (e *ensemble) start(ctx context.Context, d dimension, res *resources.Resource) *stream {
	o := e.operator
	ctx, cancel := context.WithCancel(ctx)
	s := &stream{cancel: cancel, done: make(chan struct{})}
	e.pending++
	e.known[d] = true
	e.join(ctx, d, s)
	o.reporter.listing(d.String(), d.resource)
	logger := o.logger.With(observe.NameKey, "kopf.watching")
	first := firstListing{over: !e.paused}
	go func() {
		defer close(s.done)
		defer s.indexer.end()
		watch.Run(ctx, watch.Options{
			Client: o.client, Resource: res, Namespace: d.namespace,
			Handle: func(event watch.Event) {
				o.meters.event(d.resource, event)
				key := queue.KeyOf(d.resource, event.Object)
				o.reporter.found(d, key, event)
				first.note(key)
				s.handle(o.queue, d, event)
			},
			Listed: func(int) {
				if keys, ok := first.end(); ok {
					e.forget(d, keys) // gone during a pause: nobody has told
					s.indexer.retain(keys)
				}
				e.listed(d, s)
			},
			Restarted:         func(r watch.Restart) { e.restarted(logger, d, r) },
			ServerTimeout:     o.settings.ServerTimeout,
			ClientTimeout:     o.settings.ClientTimeout,
			InactivityTimeout: o.settings.InactivityTimeout,
			ReconnectBackoff:  o.settings.ReconnectBackoff,
			Logger:            logger,
		})
	}()
	return s
}

// firstListing are the objects that a stream begins with. It is for one goroutine.
type firstListing struct {
	keys map[queue.Key]bool
	over bool
}

func (l *firstListing) note(key queue.Key) {
	if l.over {
		return
	}
	if l.keys == nil {
		l.keys = map[queue.Key]bool{}
	}
	l.keys[key] = true
}

// end returns all of them, once.
func (l *firstListing) end() (map[queue.Key]bool, bool) {
	keys, fresh := l.keys, !l.over
	l.keys, l.over = nil, true
	return keys, fresh
}

// listed notes that all objects of a stream are known.
func (e *ensemble) listed(d dimension, s *stream) {
	e.operator.reporter.listed(d.String())
	e.mu.Lock()
	defer e.mu.Unlock()
	if s.listed || e.streams[d] != s {
		return
	}
	s.listed = true
	e.pending--
	e.indexed(s)
	e.checkReady()
}

// checkReady calls the ready function once, when all objects of all streams are known.
func (e *ensemble) checkReady() {
	if e.pending == 0 && e.ready != nil {
		ready := e.ready
		e.ready = nil
		e.operator.readying.Go(ready)
	}
}

// restarted logs why a stream was interrupted: what is usual, with few words.
func (e *ensemble) restarted(logger *slog.Logger, d dimension, r watch.Restart) {
	e.operator.meters.restarted(d.resource, r)
	switch r.Reason {
	case watch.Closed, watch.ClientTimeout, watch.Expired, watch.Silent:
		logger.Debug("The watch-stream for "+d.String()+" is restarted.", "reason", string(r.Reason))
		return
	case watch.Throttled:
		if r.Attempt < 2 {
			// As usual for a resource that has just been defined: its storage is not ready.
			logger.Debug("The watch-stream for "+d.String()+" is to be started later.", "error", r.Err, "again in", r.Delay.String())
			return
		}
	case watch.Forbidden, watch.NotFound:
	default:
		if r.Attempt < 2 {
			break // most interruptions are over at the next attempt
		}
		switch {
		case r.Err == nil:
			e.operator.reach.lose(string(r.Reason))
		case isLoss(r.Err):
			e.operator.reach.lose(innermost(r.Err))
		}
	}
	message := "The watch-stream for " + d.String() + " is interrupted."
	if e.blocks(d) {
		message += " All handlers wait for it, since its objects are to be indexed."
	}
	logger.Warn(message,
		"reason", string(r.Reason), "error", r.Err, "again in", r.Delay.String())
}

// whenReady sets what to call when all objects of all streams are known.
func (e *ensemble) whenReady(ready func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ready = ready
}

// stop ends all streams. What is known of their objects stays until the workers are done.
func (e *ensemble) stop() {
	e.mu.Lock()
	streams := e.streams
	e.streams = map[dimension]*stream{}
	e.mu.Unlock()
	for _, s := range streams {
		s.cancel()
	}
	for d, s := range streams {
		e.await(d, s)
	}
}
