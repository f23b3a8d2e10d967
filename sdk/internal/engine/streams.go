package engine

import (
	"context"
	"maps"
	"reflect"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/daemons"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// streams are the watch streams of all served resources in all served namespaces.
type streams struct {
	deps     *deps
	memories *memories
	detached *detachedDaemons
	invoker  *invoker
	onReady  userCalls

	mu        sync.Mutex
	resources map[string]*servedResource // by key
	running   map[resources.Scope]*stream
	known     map[resources.Scope]bool // whose objects may be remembered: of running and of paused streams
	unlisted  int                      // running streams whose objects are not all known yet
	relisting bool                     // streams start again: their first listing shows which objects are gone
	ready     func()

	indexers map[resources.Scope]*indexer // of running and of paused streams, if their objects are indexed
	gate     *indexGate                   // of the newest streams
}

// stream is the watch stream of one scope.
type stream struct {
	cancel context.CancelFunc
	done   chan struct{}
	listed bool
	gains  int // of shards, when it started: it may miss the objects of later ones

	indexer *indexer // nil if the objects are not indexed
	gate    *indexGate
}

func newStreams(d *deps, m *memories, detached *detachedDaemons, i *invoker) *streams {
	return &streams{
		deps: d, memories: m, detached: detached, invoker: i,
		resources: map[string]*servedResource{}, running: map[resources.Scope]*stream{},
		known: map[resources.Scope]bool{}, indexers: map[resources.Scope]*indexer{},
	}
}

// served implements [servedResources].
func (s *streams) served(key string) *servedResource {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.resources[key]
}

// indexer implements [indexedResources].
func (s *streams) indexer(resource, namespace string) *indexer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x := s.indexers[resources.Scope{Resource: resource, Namespace: namespace}]; x != nil {
		return x
	}
	return s.indexers[resources.Scope{Resource: resource}] // one stream serves all namespaces
}

// keepsEvents reports whether a resource has handlers of raw events, which get every event.
func (s *streams) keepsEvents(key string) bool {
	res := s.served(key)
	return res != nil && res.handlers.Has(handlers.Watching)
}

// adjust starts and stops streams so that they cover the resources in the namespaces. The empty
// namespace is the whole cluster.
func (s *streams) adjust(ctx context.Context, rs []resources.Resource, namespaces []string) {
	wanted := scopesOf(rs, namespaces)
	s.stop(func(scope resources.Scope) bool {
		return wanted[scope] == nil || s.mustRelist(scope, wanted[scope]) || !s.deps.shards.any(s.resources[scope.Resource])
	})
	s.stopServingUnwanted(wanted)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.updateResources(wanted)
	for scope, res := range wanted {
		if s.running[scope] != nil || !s.deps.shards.any(s.resources[scope.Resource]) {
			continue
		}
		s.running[scope] = s.start(ctx, scope, res)
	}
	if s.gate != nil {
		s.gate.openWhenComplete()
	}
	s.checkReady()
}

func scopesOf(rs []resources.Resource, namespaces []string) map[resources.Scope]*resources.Resource {
	scopes := map[resources.Scope]*resources.Resource{}
	for i := range rs {
		res := &rs[i]
		if !res.Namespaced {
			scopes[resources.Scope{Resource: res.Key()}] = res
			continue
		}
		for _, ns := range namespaces {
			scopes[resources.Scope{Resource: res.Key(), Namespace: ns}] = res
		}
	}
	return scopes
}

// updateResources makes the served resources those of the wanted scopes. The definition of a resource
// can change while it is served, e.g. to have the status as a subresource. The lock must be held.
func (s *streams) updateResources(wanted map[resources.Scope]*resources.Resource) {
	served := map[string]bool{}
	for scope, res := range wanted {
		served[scope.Resource] = true
		switch before := s.resources[scope.Resource]; {
		case before == nil:
			s.resources[scope.Resource] = s.newResource(res)
		case before.resource != res && !reflect.DeepEqual(before.resource, res):
			s.resources[scope.Resource] = s.newResource(res).replacing(before)
		}
	}
	maps.DeleteFunc(s.resources, func(key string, _ *servedResource) bool { return !served[key] })
}

func (s *streams) newResource(res *resources.Resource) *servedResource {
	return newServedResource(s.deps.registry, res, s.deps.sink.Wants(observe.KindObjectIndexed))
}

// pause stops all streams and drops all queued events. The objects are still remembered, so that
// they are not handled as new when they are listed again.
func (s *streams) pause() {
	s.mu.Lock()
	s.relisting = true
	s.mu.Unlock()
	s.stop(func(resources.Scope) bool { return true })
	s.deps.queue.Drop(func(queue.Key) bool { return true })
	for key, m := range s.memories.all() {
		s.detached.stop(key, m, daemons.OperatorPausing)
	}
}

// stop stops the streams of some scopes, and waits for them to end.
func (s *streams) stop(which func(resources.Scope) bool) {
	stopped := map[resources.Scope]*stream{}
	s.mu.Lock()
	for scope, st := range s.running {
		if !which(scope) {
			continue
		}
		stopped[scope] = st
		delete(s.running, scope)
		if !st.listed {
			s.unlisted--
			st.indexed()
		}
		st.cancel()
	}
	s.mu.Unlock() // the streams may be waiting for it
	for scope, st := range stopped {
		s.waitFor(scope, st)
		observe.Tell(s.deps.sink, observe.StreamChanged{Stream: scope, Phase: observe.StreamStopped})
	}
}

// stopAll stops all streams when the operator exits. Their objects are still remembered, until the
// workers are done.
func (s *streams) stopAll() {
	s.mu.Lock()
	stopped := s.running
	s.running = map[resources.Scope]*stream{}
	s.mu.Unlock()
	for _, st := range stopped {
		st.cancel()
	}
	for scope, st := range stopped {
		s.waitFor(scope, st)
	}
}

// waitFor waits for the end of a stream. Only an indexing function that ignores its context can delay
// that: it is abandoned after the exit timeout.
func (s *streams) waitFor(scope resources.Scope, st *stream) {
	if st.indexer == nil {
		<-st.done
		return
	}
	limit := time.NewTimer(max(0, s.deps.settings.ExitTimeout) + queue.AbandonAfter)
	defer limit.Stop()
	select {
	case <-st.done:
	case <-limit.C:
		s.mu.Lock()
		st.indexer.abandoned = true // it cannot serve the next stream
		s.mu.Unlock()
		s.deps.logger.Warn("An indexing function ignores that the watch-stream for "+scope.String()+" has ended; abandoning it",
			observe.EventKey, observe.LogIndexAbandoned)
	}
}

// stopServingUnwanted stops serving the scopes that are not wanted any more: their CRD or their
// namespace was deleted.
func (s *streams) stopServingUnwanted(wanted map[resources.Scope]*resources.Resource) {
	for scope := range s.remembered() {
		if wanted[scope] == nil {
			s.stopServing(scope)
		}
	}
}

// remembered returns the scopes whose objects may be remembered.
func (s *streams) remembered() map[resources.Scope]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.known)
}

// stopServing forgets the objects of a scope that is no longer served, and removes them from the
// indices.
func (s *streams) stopServing(scope resources.Scope) {
	s.forgetObjects(scope, nil)
	s.mu.Lock()
	delete(s.known, scope)
	indexer := s.indexers[scope]
	delete(s.indexers, scope)
	s.mu.Unlock()
	if indexer != nil {
		indexer.clear(nil)
	}
}

// whole returns the keys of the served resources whose objects are not divided into shards.
func (s *streams) whole() map[string]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	keys := map[string]bool{}
	for key, res := range s.resources {
		keys[key] = !res.narrowed()
	}
	return keys
}

// removeFromIndices removes objects, by the keys of their resources, from the indices.
func (s *streams) removeFromIndices(ids map[string][]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for scope, x := range s.indexers {
		if gone := ids[scope.Resource]; len(gone) > 0 {
			x.forget(gone)
		}
	}
}

// forgetObjects forgets the objects of a scope, except for those that are known to exist.
func (s *streams) forgetObjects(scope resources.Scope, existing map[queue.Key]bool) {
	s.memories.retainMemos(scope, existing)
	res := s.served(scope.Resource)
	gone := s.memories.forgetWhere(scope.Resource, func(key queue.Key, m *memory) bool {
		if existing != nil && !s.deps.shards.ownsKey(res, key, m.namespace) {
			return false // its shard was lost during the listing, which does not mean that it is gone
		}
		return (scope.Namespace == "" || m.namespace == scope.Namespace) && !existing[key]
	})
	keys := make(map[queue.Key]bool, len(gone))
	for key, m := range gone {
		keys[key] = true
		observe.Tell(s.deps.sink, observe.ObjectForgotten{Identity: m.identity})
		s.detached.stop(key, m, daemons.ResourceDeleted)
	}
	s.deps.queue.Drop(func(key queue.Key) bool { return keys[key] })
}

// start starts a stream. The lock must be held.
func (s *streams) start(ctx context.Context, scope resources.Scope, res *resources.Resource) *stream {
	ctx, cancel := context.WithCancel(ctx)
	st := &stream{cancel: cancel, done: make(chan struct{}), gains: s.deps.shards.gains()}
	s.unlisted++
	s.known[scope] = true
	s.prepareIndexing(ctx, scope, st)
	observe.Tell(s.deps.sink, observe.StreamChanged{Stream: scope, Phase: observe.StreamStarted})
	first := initialListing{over: !s.relisting}
	selection := selectionOf(s.deps, s.resources[scope.Resource])
	go func() {
		defer close(st.done)
		defer st.indexer.stop()
		watch.Run(ctx, watch.Options{
			Client: s.deps.client, Resource: res, Namespace: scope.Namespace,
			LabelSelector: selection.labels, ShardSelector: selection.shards, Keep: selection.keep,
			Handle: func(event watch.Event) {
				observe.Tell(s.deps.sink, observe.EventReceived{Stream: scope, Event: event})
				key := queue.KeyOf(scope.Resource, event.Object)
				if s.deps.graves.isLate(key, event, event.Type == watch.Listed, event.Complete) {
					s.deps.dropLate(event.Object)
					return
				}
				first.add(key)
				st.handle(scope.Resource, event)
			},
			Listed: func(int) {
				if existing, ok := first.end(); ok {
					s.forgetObjects(scope, existing) // deleted during a pause, without an event
					st.indexer.retain(existing)
				}
				s.listed(scope, st)
			},
			Restarted:         func(r watch.Restart) { s.restarted(scope, r) },
			ServerTimeout:     s.deps.settings.ServerTimeout,
			ClientTimeout:     s.deps.settings.ClientTimeout,
			InactivityTimeout: s.deps.settings.InactivityTimeout,
			ReconnectBackoff:  s.deps.settings.ReconnectBackoff,
			Logger:            s.deps.logger.With(observe.NameKey, "kopf.watching", observe.EventKey, observe.LogStreamDetail),
		})
	}()
	return st
}

// prepareIndexing gives a new stream its indexer, if its objects are indexed, and the newest gate. A
// gate that is still closed also waits for the new stream. The lock must be held.
func (s *streams) prepareIndexing(ctx context.Context, scope resources.Scope, st *stream) {
	if s.gate == nil || s.gate.opened {
		s.gate = &indexGate{queue: s.deps.queue, logger: s.deps.logger}
	}
	st.gate = s.gate
	res, x := s.resources[scope.Resource], s.indexers[scope]
	if x != nil {
		x.clear(res.indexes)
	}
	if len(res.indexes) == 0 {
		delete(s.indexers, scope)
		return
	}
	st.gate.wait()
	if x == nil || x.abandoned {
		x = newIndexer(s.deps, s.memories, s.invoker, scope)
		s.indexers[scope] = x
	}
	x.start(ctx, res)
	st.indexer = x
}

// mustRelist reports whether the objects of a scope must be listed again because the definition of
// the resource has changed and other handlers match it now: daemons start and indices fill without a
// change of the objects; or because the operator has got more shards of them.
func (s *streams) mustRelist(scope resources.Scope, res *resources.Resource) bool {
	before := s.resources[scope.Resource]
	if st := s.running[scope]; st != nil && before != nil && before.narrowed() && st.gains != s.deps.shards.gains() {
		s.relisting = true
		return true
	}
	if before == nil || reflect.DeepEqual(before.resource, res) || s.newResource(res).handlers.Same(before.handlers) {
		return false
	}
	s.relisting = true
	return true
}

// listed notes that all objects of a stream are known.
func (s *streams) listed(scope resources.Scope, st *stream) {
	observe.Tell(s.deps.sink, observe.StreamChanged{Stream: scope, Phase: observe.StreamListed})
	s.mu.Lock()
	defer s.mu.Unlock()
	if st.listed || s.running[scope] != st {
		return
	}
	st.listed = true
	s.unlisted--
	st.indexed()
	s.checkReady()
}

// whenReady sets the function to call once all objects of all streams are known.
func (s *streams) whenReady(ready func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ready = ready
}

// checkReady calls the ready function once, when all objects are known. The lock must be held.
func (s *streams) checkReady() {
	if s.unlisted == 0 && s.ready != nil {
		s.onReady.start(s.ready)
		s.ready = nil
	}
}

// restarted tells that a stream was interrupted, and whether the cluster seems to be lost.
func (s *streams) restarted(scope resources.Scope, r watch.Restart) {
	observe.Tell(s.deps.sink, observe.StreamChanged{
		Stream: scope, Phase: observe.StreamRestarted, Restart: r, Blocking: s.blocksHandlers(scope),
	})
	switch r.Reason {
	case watch.Closed, watch.ClientTimeout, watch.Expired, watch.Silent, watch.Throttled, watch.Forbidden, watch.NotFound:
		return
	}
	switch {
	case r.Attempt < 2: // most interruptions are over at the next attempt
	case r.Err == nil:
		observe.Tell(s.deps.sink, observe.ClusterLost{Reason: string(r.Reason)})
	default:
		tellIfLost(s.deps.sink, r.Err)
	}
}

// blocksHandlers reports whether handlers wait until the objects of a stream are indexed.
func (s *streams) blocksHandlers(scope resources.Scope) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.running[scope]
	return st != nil && st.indexer != nil && !st.listed && !st.gate.opened
}

// handle indexes the object of an event, and queues the event unless the object is only indexed.
func (st *stream) handle(resource string, event watch.Event) {
	if st.indexer != nil {
		st.indexer.handle(event)
		if st.indexer.resource.onlyIndexed {
			return
		}
	}
	st.gate.put(resource, event)
}

// indexed stops the gate from waiting for the stream. The lock of [streams] must be held.
func (st *stream) indexed() {
	if st.indexer != nil {
		st.gate.indexed()
	}
}
