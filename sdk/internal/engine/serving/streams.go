// Package serving discovers the resources and namespaces of the cluster, and streams their objects into the indices and
// the queue.
package serving

import (
	"context"
	"maps"
	"reflect"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/daemons"
	"github.com/kopf-dev/kopf/sdk/internal/engine/call"
	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/engine/indexing"
	"github.com/kopf-dev/kopf/sdk/internal/engine/memory"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// Streams are the watch streams of all served resources in all served namespaces.
type Streams struct {
	deps     *core.Deps
	memories *memory.Memories
	detached *memory.DetachedDaemons
	invoker  *call.Invoker
	Ready    func()         // called once, when all objects of all streams are known
	OnReady  sync.WaitGroup // the running call of Ready

	mu        sync.Mutex
	resources map[string]*core.ServedResource // served resources by key
	running   map[resources.Scope]*stream
	relisting bool // set when streams start again; their first listing reveals deleted objects

	indexers map[resources.Scope]*indexing.Indexer // indexers of running and paused streams; nil if the objects are not indexed
	gate     *indexGate                            // gate of the newest streams
}

// stream is the watch stream of one scope.
type stream struct {
	cancel context.CancelFunc
	done   chan struct{}
	listed bool
	gains  int // value of ownShards.Gains when the stream started; shards added later need a relist

	indexer *indexing.Indexer // nil if the objects are not indexed
	gate    *indexGate
}

// indexGate belongs to streams that start together: at startup, after a pause, or for a new resource or namespace. No
// object of these streams is processed before all of their objects are indexed. The lock of [Streams] guards all fields
// except the queue and its gate.
type indexGate struct {
	queue  *queue.Queue
	gate   queue.Gate
	waited bool // set if a stream delayed the gate
	opened bool
}

// NewStreams returns the streams of an operator. None is running yet.
func NewStreams(d *core.Deps, m *memory.Memories, detached *memory.DetachedDaemons, i *call.Invoker) *Streams {
	return &Streams{
		deps: d, memories: m, detached: detached, invoker: i,
		resources: map[string]*core.ServedResource{}, running: map[resources.Scope]*stream{}, indexers: map[resources.Scope]*indexing.Indexer{},
	}
}

// Served returns the resource with a key; nil if the resource is not served.
func (s *Streams) Served(key string) *core.ServedResource {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.resources[key]
}

// Indexer returns the indexer of the objects in a namespace; nil if they are not indexed.
func (s *Streams) Indexer(resource, namespace string) *indexing.Indexer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x := s.indexers[resources.Scope{Resource: resource, Namespace: namespace}]; x != nil {
		return x
	}
	return s.indexers[resources.Scope{Resource: resource}] // one stream serves all namespaces
}

// KeepsEvents reports whether a resource has event handlers, which receive every event.
func (s *Streams) KeepsEvents(key string) bool {
	res := s.Served(key)
	return res != nil && res.Handlers.Has(handlers.Watching)
}

// adjust starts and stops streams so that they cover the resources in the namespaces; the empty one is the whole cluster.
func (s *Streams) adjust(ctx context.Context, rs []resources.Resource, namespaces []string) {
	wanted := scopesOf(rs, namespaces)
	s.stop(func(scope resources.Scope) bool {
		return wanted[scope] == nil || s.mustRelist(scope, wanted[scope]) || !s.deps.Shards.Any(s.resources[scope.Resource])
	})
	s.stopServingUnwanted(wanted)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.updateResources(wanted)
	for scope, res := range wanted {
		if s.running[scope] == nil && s.deps.Shards.Any(s.resources[scope.Resource]) {
			s.running[scope] = s.start(ctx, scope, res)
		}
	}
	s.open(s.gate)
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

// updateResources sets the served resources to the resources of the wanted scopes. The definition of a resource can
// change while it is served, for example to add the status subresource. The lock must be held.
func (s *Streams) updateResources(wanted map[resources.Scope]*resources.Resource) {
	served := map[string]bool{}
	for scope, res := range wanted {
		served[scope.Resource] = true
		switch before := s.resources[scope.Resource]; {
		case before == nil:
			s.resources[scope.Resource] = s.newResource(res)
		case before.Resource != res && !reflect.DeepEqual(before.Resource, res):
			now := s.newResource(res)
			now.OnlyIndexed = now.OnlyIndexed && before.OnlyIndexed // otherwise, memories of the objects exist
			s.resources[scope.Resource] = now
		}
	}
	maps.DeleteFunc(s.resources, func(key string, _ *core.ServedResource) bool { return !served[key] })
}

func (s *Streams) newResource(res *resources.Resource) *core.ServedResource {
	return core.NewServedResource(s.deps.Registry, res, s.deps.Sink.Wants(observe.KindObjectIndexed))
}

// pause stops all streams and drops all queued events. The memories stay, so that objects are not new when listed again.
func (s *Streams) pause() {
	s.mu.Lock()
	s.relisting = true
	s.mu.Unlock()
	s.stop(func(resources.Scope) bool { return true })
	if s.deps.Limits != nil {
		s.deps.Limits.LeaveAll()
	}
	s.deps.Queue.Drop(func(queue.Key) bool { return true })
	for key, m := range s.memories.All() {
		s.detached.Stop(key, m, daemons.OperatorPausing)
	}
}

// stop stops the matching streams, and waits until they have ended.
func (s *Streams) stop(which func(resources.Scope) bool) {
	stopped := map[resources.Scope]*stream{}
	s.mu.Lock()
	for scope, st := range s.running {
		if which(scope) {
			st.cancel()
			stopped[scope] = st
			delete(s.running, scope)
		}
	}
	for _, st := range stopped {
		s.open(st.gate)
	}
	s.mu.Unlock() // the streams may be waiting for the lock
	s.waitFor(stopped)
	for scope := range stopped {
		observe.Emit(s.deps.Sink, observe.StreamChanged{Stream: scope, Phase: observe.StreamStopped})
	}
}

// StopAll stops all streams when the operator exits. It keeps the memories, because workers still use them.
func (s *Streams) StopAll() {
	s.mu.Lock()
	stopped := s.running
	s.running = map[resources.Scope]*stream{}
	s.mu.Unlock()
	for _, st := range stopped {
		st.cancel()
	}
	s.waitFor(stopped)
}

// waitFor waits until streams have ended, or until the exit timeout if an indexing function ignores its context.
func (s *Streams) waitFor(stopped map[resources.Scope]*stream) {
	for scope, st := range stopped {
		var limit <-chan time.Time
		if st.indexer != nil {
			limit = time.After(max(0, s.deps.Settings.ExitTimeout) + queue.AbandonAfter)
		}
		select {
		case <-st.done:
		case <-limit:
			s.mu.Lock()
			st.indexer.Abandoned = true // the indexer cannot serve the next stream
			s.mu.Unlock()
			s.deps.Logger.Warn("An indexing function ignores that the watch-stream for "+scope.String()+" has ended; abandoning it",
				observe.EventKey, observe.LogIndexAbandoned)
		}
	}
}

// stopServingUnwanted drops the memories and the indexed objects of unwanted scopes, because their CRD or namespace was deleted.
func (s *Streams) stopServingUnwanted(wanted map[resources.Scope]*resources.Resource) {
	s.mu.Lock()
	known := maps.Clone(s.indexers)
	s.mu.Unlock()
	for scope, indexer := range known {
		if wanted[scope] != nil {
			continue
		}
		s.forgetObjects(scope, nil)
		s.mu.Lock()
		delete(s.indexers, scope)
		s.mu.Unlock()
		indexer.Clear(nil)
	}
}

// forgetObjects drops the memories of a scope's objects, except for the existing ones.
func (s *Streams) forgetObjects(scope resources.Scope, existing map[queue.Key]bool) {
	s.memories.RetainMemos(scope, existing)
	res := s.Served(scope.Resource)
	keys, _ := s.forget(daemons.ResourceDeleted, func(key queue.Key, m *memory.Memory) bool {
		if key.Resource != scope.Resource || scope.Namespace != "" && m.Namespace != scope.Namespace || existing[key] {
			return false
		}
		return existing == nil || s.deps.Shards.OwnsKey(res, key, m.Namespace) // otherwise, the shard was lost during the listing, and the object may still exist
	})
	for key := range keys {
		s.deps.Forget(key)
	}
	s.deps.Queue.Drop(func(key queue.Key) bool { return keys[key] })
}

// start starts a stream. The lock must be held.
func (s *Streams) start(ctx context.Context, scope resources.Scope, res *resources.Resource) *stream {
	ctx, cancel := context.WithCancel(ctx)
	st := &stream{cancel: cancel, done: make(chan struct{}), gains: s.deps.Shards.Gains()}
	s.prepareIndexing(ctx, scope, st)
	observe.Emit(s.deps.Sink, observe.StreamChanged{Stream: scope, Phase: observe.StreamStarted})
	var existing map[queue.Key]bool // objects of the first listing after a pause; nil if it has ended
	if s.relisting {
		existing = map[queue.Key]bool{}
	}
	options := watch.Options{
		Client: s.deps.Client, Resource: res, Namespace: scope.Namespace,
		Handle: func(event watch.Event) {
			observe.Emit(s.deps.Sink, observe.EventReceived{Stream: scope, Event: event})
			key := queue.KeyOf(scope.Resource, event.Object)
			if s.deps.Graves.IsLate(key, event, event.Type == watch.Listed, event.Complete) {
				s.deps.DropLate(event.Object)
				return
			}
			if existing != nil {
				existing[key] = true
			}
			st.handle(scope.Resource, event)
		},
		Listed: func(int) {
			if existing != nil {
				s.forgetObjects(scope, existing) // objects that were deleted during a pause have no event
				st.indexer.Retain(existing)
				existing = nil
			}
			s.listed(scope, st)
		},
		Restarted:         func(r watch.Restart) { s.restarted(scope, r) },
		ServerTimeout:     s.deps.Settings.ServerTimeout,
		ClientTimeout:     s.deps.Settings.ClientTimeout,
		InactivityTimeout: s.deps.Settings.InactivityTimeout,
		ReconnectBackoff:  s.deps.Settings.ReconnectBackoff,
		Logger:            s.deps.Logger.With(observe.NameKey, "kopf.watching", observe.EventKey, observe.LogStreamDetail),
	}
	if served := s.resources[scope.Resource]; served.Narrowed() {
		options.LabelSelector = s.deps.Settings.Selection.Labels
		if own := s.deps.Shards; own != nil {
			options.ShardSelector, options.Keep = own.Selector, func(o *object.Object) bool { return own.Owns(served, o) }
		}
	}
	go func() {
		defer close(st.done)
		defer st.indexer.Stop()
		watch.Run(ctx, options)
	}()
	return st
}

// prepareIndexing sets the indexer of a new stream if its objects are indexed, and the newest gate. A gate that is still
// closed also waits for the new stream. The lock must be held.
func (s *Streams) prepareIndexing(ctx context.Context, scope resources.Scope, st *stream) {
	if s.gate == nil || s.gate.opened {
		s.gate = &indexGate{queue: s.deps.Queue}
	}
	st.gate = s.gate
	res, x := s.resources[scope.Resource], s.indexers[scope]
	x.Clear(res.Indexes)
	switch {
	case len(res.Indexes) == 0:
		s.indexers[scope] = nil
		return
	case x == nil || x.Abandoned:
		x = indexing.NewIndexer(s.deps, s.memories, s.invoker, scope)
		s.indexers[scope] = x
	}
	st.gate.waited = true
	st.indexer = x
	x.Start(ctx, res)
}

// mustRelist reports whether the objects of a scope must be listed again: because other handlers match after a change of
// the resource's definition, so that daemons must start and indices fill without a change of the objects; or because
// shards were added. It then sets relisting. The lock must be held.
func (s *Streams) mustRelist(scope resources.Scope, res *resources.Resource) bool {
	before, st := s.resources[scope.Resource], s.running[scope]
	relists := before != nil && (st != nil && before.Narrowed() && st.gains != s.deps.Shards.Gains() ||
		!reflect.DeepEqual(before.Resource, res) && !s.newResource(res).Handlers.Same(before.Handlers))
	s.relisting = s.relisting || relists
	return relists
}

// listed records that all objects of a stream are known.
func (s *Streams) listed(scope resources.Scope, st *stream) {
	observe.Emit(s.deps.Sink, observe.StreamChanged{Stream: scope, Phase: observe.StreamListed})
	s.mu.Lock()
	defer s.mu.Unlock()
	if !st.listed && s.running[scope] == st {
		st.listed = true
		s.open(st.gate)
		s.checkReady()
	}
}

// open opens a gate once all objects of its streams are indexed. The lock must be held.
func (s *Streams) open(gate *indexGate) {
	if gate == nil || gate.opened {
		return
	}
	for _, st := range s.running {
		if st.gate == gate && st.indexer != nil && !st.listed {
			return
		}
	}
	gate.opened = true
	gate.queue.Open(&gate.gate)
	if gate.waited {
		s.deps.Logger.Debug("Indices are complete: starting the handlers", observe.EventKey, observe.LogIndexComplete)
	}
}

// checkReady calls Ready once, when the objects of all streams are known. The lock must be held.
func (s *Streams) checkReady() {
	for _, st := range s.running {
		if !st.listed {
			return
		}
	}
	if s.Ready != nil {
		s.OnReady.Go(s.Ready)
		s.Ready = nil
	}
}

// restarted emits that a stream was interrupted, and whether the cluster seems to be lost.
func (s *Streams) restarted(scope resources.Scope, r watch.Restart) {
	observe.Emit(s.deps.Sink, observe.StreamChanged{
		Stream: scope, Phase: observe.StreamRestarted, Restart: r, Blocking: s.blocksHandlers(scope),
	})
	switch r.Reason {
	case watch.Closed, watch.ClientTimeout, watch.Expired, watch.Silent, watch.Throttled, watch.Forbidden, watch.NotFound:
		return
	}
	if r.Attempt > 1 { // most interruptions end with the next attempt
		emitIfLost(s.deps.Sink, r.Err)
	}
}

// blocksHandlers reports whether handlers wait until the objects of a stream are indexed.
func (s *Streams) blocksHandlers(scope resources.Scope) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.running[scope]
	return st != nil && st.indexer != nil && !st.listed && !st.gate.opened
}

// handle indexes the object of an event, and queues the event unless the object is only indexed.
func (st *stream) handle(resource string, event watch.Event) {
	if st.indexer != nil {
		st.indexer.Handle(event)
		if st.indexer.Resource.OnlyIndexed {
			return
		}
	}
	st.gate.queue.PutBehind(&st.gate.gate, resource, event)
}
