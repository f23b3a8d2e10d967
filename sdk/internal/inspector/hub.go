package inspector

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// HubOptions configure a [Hub]. The zero value of each field means its default.
type HubOptions struct {
	// LogLines is the number of log lines that are kept. Defaults to 1000.
	LogLines int

	// Interval is the least time between two batches to one reader; the first change after a quiet time
	// is sent at once. Defaults to 50ms.
	Interval time.Duration

	// Intents is called for the intents of readers, except [inspect.IntentLogLevel], which the Hub handles itself.
	// If it is nil, the others are refused.
	Intents func(inspect.Intent) inspect.Reply

	// Index returns a page of an index, or false if there is no such index. If it is nil, there are no indices.
	Index func(IndexQuery) (inspect.IndexPage, bool)

	// Cluster reads objects of the cluster. If it is nil, none can be read.
	Cluster ClusterReader

	// Children returns the children of an object; for the zero Ref, of all objects. If it is nil, there are none.
	Children func(parent inspect.Ref) inspect.ChildList
}

// IndexQuery asks for a page of an index: at most Limit entries after Offset, of those that match.
type IndexQuery struct {
	ID            string
	Search        string // words that the key or the value of an entry must have; empty for all entries
	Offset, Limit int
}

const (
	defaultLogLines = 1000
	defaultInterval = 50 * time.Millisecond

	// minTombstones is the least number of deleted objects that are remembered, so that a reader that
	// lags behind gets their references instead of a new snapshot.
	minTombstones = 1024
)

// Hub holds the current state of an operator for its readers. It is safe for concurrent use.
//
// The methods for the operator never block: a change replaces a value, and nothing is queued. When a reader is ready
// for more, the revision numbers show the changes since its last batch, so that neither the number of readers nor
// their slowness costs memory.
//
// The methods for the operator do nothing on a nil *Hub. Values that are passed to a Hub must not be
// changed afterwards.
type Hub struct {
	interval time.Duration
	intents  func(inspect.Intent) inspect.Reply
	index    func(IndexQuery) (inspect.IndexPage, bool)
	cluster  ClusterReader
	children func(inspect.Ref) inspect.ChildList
	requests requestTallies

	mu       sync.Mutex
	revision uint64

	operator    inspect.Operator
	operatorRev uint64

	handlers    []inspect.Handler
	tallies     []tally
	handlersRev uint64

	served    inspect.Served
	servedRev uint64

	indices    []inspect.Index
	indicesRev uint64

	objects    map[inspect.Ref]*entry // includes the tombstones
	changes    entry                  // ring of all entries, by revision
	tombstones int

	// forgotten is the newest revision of a deleted object whose tombstone was removed. Readers before it
	// get a new snapshot.
	forgotten uint64

	admission    *inspect.Admission // nil if there are no admission handlers
	admissionRev uint64
	reviews      ring[inspect.Review]

	log      ring[inspect.LogLine]
	logLevel inspect.LogLevel

	bye           *string
	subscriptions map[*subscription]struct{}
}

// entry is an object, or the tombstone of a deleted one, in the ring of changes.
type entry struct {
	ref        inspect.Ref
	object     *inspect.Object // nil in a tombstone
	revision   uint64
	prev, next *entry
}

// NewHub returns a Hub with the options.
func NewHub(opts HubOptions) *Hub {
	h := &Hub{
		interval:      opts.Interval,
		intents:       opts.Intents,
		index:         opts.Index,
		cluster:       opts.Cluster,
		children:      opts.Children,
		objects:       make(map[inspect.Ref]*entry),
		logLevel:      inspect.LevelInfo,
		subscriptions: make(map[*subscription]struct{}),
	}
	if h.interval <= 0 {
		h.interval = defaultInterval
	}
	if opts.LogLines <= 0 {
		opts.LogLines = defaultLogLines
	}
	h.log.limit, h.reviews.limit = opts.LogLines, inspect.MaxReviews
	h.changes.prev, h.changes.next = &h.changes, &h.changes
	return h
}

// UpdateOperator changes the state of the operator itself.
func (h *Hub) UpdateOperator(update func(*inspect.Operator)) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	update(&h.operator)
	h.operatorRev = h.changed()
}

// SetHandlers publishes the registered handlers, in the order of registration. Their Stats need not
// be set: [Hub.HandlerRan] counts them.
func (h *Hub) SetHandlers(handlers []inspect.Handler) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.handlers = handlers
	h.tallies = make([]tally, len(handlers))
	h.handlersRev = h.changed()
}

// HandlerRan counts an attempt of the handler at an index of [Hub.SetHandlers].
func (h *Hub) HandlerRan(index int, run Run) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if index < 0 || index >= len(h.tallies) {
		return
	}
	h.tallies[index].count(run)
	h.handlersRev = h.changed()
}

// SetServed publishes the watched resources, those with admission handlers, and the selectors without one.
func (h *Hub) SetServed(served inspect.Served) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.served = served
	h.servedRev = h.changed()
}

// PutIndex publishes the size of an index. An unchanged one is not sent.
func (h *Hub) PutIndex(index inspect.Index) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	i, found := slices.BinarySearchFunc(h.indices, index.ID, func(x inspect.Index, id string) int { return strings.Compare(x.ID, id) })
	switch {
	case !found:
		h.indices = append(h.indices, index)
		copy(h.indices[i+1:], h.indices[i:]) // slices.Insert would link 3 KB
		h.indices[i] = index
	case sameIndex(&h.indices[i], &index):
		return
	default:
		h.indices[i] = index
	}
	h.indicesRev = h.changed()
}

// SetAdmission publishes the state of the webhooks.
func (h *Hub) SetAdmission(state inspect.Admission) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.admission = &state
	h.admissionRev = h.changed()
}

// AddReview publishes a review that was answered. Old ones are dropped.
func (h *Hub) AddReview(review inspect.Review) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reviews.add(review)
	h.changed()
}

// PutObject publishes the state of an object, and replaces its previous state.
func (h *Hub) PutObject(o inspect.Object) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	e, ok := h.objects[o.Ref]
	switch {
	case !ok:
		e = &entry{ref: o.Ref}
		h.objects[o.Ref] = e
	case e.object == nil:
		h.tombstones--
		e.unlink()
	default:
		e.unlink()
	}
	e.object = &o
	e.revision = h.changed()
	e.append(&h.changes)
}

// DropObject publishes that an object no longer exists.
func (h *Hub) DropObject(ref inspect.Ref) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	e, ok := h.objects[ref]
	if !ok || e.object == nil {
		return
	}
	e.unlink()
	e.object = nil
	e.revision = h.changed()
	e.append(&h.changes)
	h.tombstones++

	// Sweeping costs a walk over everything, so it is done as rarely as the number
	// of objects allows: the cost of a drop stays constant on average.
	if live := len(h.objects) - h.tombstones; h.tombstones > max(minTombstones, live) {
		h.sweep()
	}
}

// sweep removes all tombstones.
func (h *Hub) sweep() {
	for e := h.changes.next; e != &h.changes; {
		next := e.next
		if e.object == nil {
			e.unlink()
			delete(h.objects, e.ref)
			h.forgotten = e.revision
		}
		e = next
	}
	h.tombstones = 0
}

// Log publishes a line of the operator's log if [Hub.LogEnabled] for its level.
func (h *Hub) Log(line inspect.LogLine) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if levelRank(line.Level) < levelRank(h.logLevel) {
		return
	}
	h.log.add(line)
	h.changed()
}

// LogEnabled reports whether lines of the level are published, so that others need not be formatted.
// It returns false for a nil Hub.
func (h *Hub) LogEnabled(level inspect.LogLevel) bool {
	if h == nil {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return levelRank(level) >= levelRank(h.logLevel)
}

// Bye publishes that the operator ends, and why. Nothing is sent after it.
func (h *Hub) Bye(reason string) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.bye == nil {
		h.bye = &reason
		h.changed()
	}
}

// Do passes an intent to the operator, and returns its reply.
func (h *Hub) Do(in inspect.Intent) inspect.Reply {
	if in.Kind == inspect.IntentLogLevel {
		level := inspect.LogLevel(in.Value)
		if levelRank(level) < 0 {
			return inspect.Reply{Error: fmt.Sprintf("unknown log level %q; want debug, info, warn or error", in.Value)}
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.logLevel = level
		return inspect.Reply{OK: true}
	}
	if h.intents == nil {
		return inspect.Reply{Error: "the operator accepts no intents"}
	}
	return h.intents(in)
}

// Index returns a page of an index, and false if there is no such index.
func (h *Hub) Index(query IndexQuery) (inspect.IndexPage, bool) {
	if h.index == nil {
		return inspect.IndexPage{}, false
	}
	query.Offset, query.Limit = max(0, query.Offset), min(max(0, query.Limit), inspect.MaxIndexPage)
	return h.index(query)
}

// Children returns the children of an object; for the zero Ref, of all objects.
func (h *Hub) Children(parent inspect.Ref) inspect.ChildList {
	if h.children == nil {
		return inspect.ChildList{Children: []inspect.Child{}}
	}
	return h.children(parent)
}

// Snapshot returns the current state.
func (h *Hub) Snapshot() *inspect.Snapshot {
	h.mu.Lock()
	b := h.batchOfAll()
	h.mu.Unlock()
	return b.snapshot()
}

// changed counts a change and wakes the readers. The caller holds the mutex.
func (h *Hub) changed() uint64 {
	h.revision++
	for s := range h.subscriptions {
		s.wake()
	}
	return h.revision
}

// handlersNow returns the handlers with their current counts. The caller holds the mutex.
func (h *Hub) handlersNow() []inspect.Handler {
	handlers := slices.Clone(h.handlers)
	for i := range handlers {
		handlers[i].Stats, handlers[i].Recent = h.tallies[i].stats(), h.tallies[i].recent.published()
	}
	return handlers
}

func (e *entry) unlink() {
	e.prev.next, e.next.prev = e.next, e.prev
}

func (e *entry) append(ring *entry) {
	e.prev, e.next = ring.prev, ring
	ring.prev.next, ring.prev = e, e
}

// levelRank returns the rank of a log level; negative for unknown levels.
func levelRank(level inspect.LogLevel) int {
	return slices.Index([]inspect.LogLevel{inspect.LevelDebug, inspect.LevelInfo, inspect.LevelWarn, inspect.LevelError}, level)
}

// sameIndex reports whether two states of an index are the same.
func sameIndex(a, b *inspect.Index) bool {
	return a.ID == b.ID && a.Key == b.Key && a.Value == b.Value &&
		a.Keys == b.Keys && a.Values == b.Values && a.Objects == b.Objects &&
		slices.Equal(a.Resources, b.Resources)
}
