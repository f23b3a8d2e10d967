package inspect

import (
	"slices"
	"strings"
	"sync"
	"time"
)

// HubOptions are the settings of a [Hub]. The zero value works.
type HubOptions struct {
	// LogLines is how many of the newest log lines are kept: 1000 if not set.
	LogLines int

	// Interval is the least time between two batches to the same reader: 50 ms if
	// not set. The first change after a silence is sent at once.
	Interval time.Duration

	// Intents is called for what readers wish to happen. Without it, they cannot.
	// [IntentLogLevel] does not come here: the Hub heeds it by itself.
	Intents func(Intent) Reply

	// Index is called for the entries of an index from an offset on, with the number of
	// those that are wanted. It returns false if there is no such index, as it is without it.
	Index func(id string, offset, limit int) (IndexPage, bool)
}

const (
	defaultLogLines = 1000
	defaultInterval = 50 * time.Millisecond

	// minGraves is how many dropped objects are remembered at least, so that a
	// reader which lags behind can be told of each instead of being sent everything.
	minGraves = 1024
)

// Hub holds the current state of an operator for those who read it.
//
// The operator's side of it never blocks: a change replaces a value and appends to no
// queue. What readers have not seen yet is found by revision numbers when they are
// ready for more, so neither their number nor their slowness costs memory.
//
// A nil *Hub is a Hub that is off: its methods for the operator do nothing.
//
// Values given to a Hub belong to it: they must not be changed afterwards.
type Hub struct {
	interval time.Duration
	intents  func(Intent) Reply
	index    func(id string, offset, limit int) (IndexPage, bool)

	mu       sync.Mutex
	revision uint64

	operator    Operator
	operatorRev uint64

	handlers    []Handler
	tallies     []tally
	handlersRev uint64

	served    Served
	servedRev uint64

	indices    []Index
	indicesRev uint64

	objects map[Ref]*entry // with the graves
	changes entry          // the ring of all entries, by revision
	graves  int

	// forgotten is the newest revision of a dropped object that is no more
	// remembered: readers that stand before it start anew.
	forgotten uint64

	log      logRing
	logLevel string

	bye           *string
	subscriptions map[*subscription]struct{}
}

// entry is an object, or the grave of one, in the ring of changes.
type entry struct {
	ref        Ref
	object     *Object // nil in a grave
	revision   uint64
	prev, next *entry
}

// NewHub makes a Hub.
func NewHub(opts HubOptions) *Hub {
	h := &Hub{
		interval:      opts.Interval,
		intents:       opts.Intents,
		index:         opts.Index,
		objects:       make(map[Ref]*entry),
		logLevel:      "info",
		subscriptions: make(map[*subscription]struct{}),
	}
	if h.interval <= 0 {
		h.interval = defaultInterval
	}
	if opts.LogLines <= 0 {
		opts.LogLines = defaultLogLines
	}
	h.log.limit = opts.LogLines
	h.changes.prev, h.changes.next = &h.changes, &h.changes
	return h
}

// UpdateOperator changes what is known of the operator itself.
func (h *Hub) UpdateOperator(update func(*Operator)) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	update(&h.operator)
	h.operatorRev = h.changed()
}

// SetHandlers publishes the registered handlers, in the order of registration. Their
// Stats are counted by [Hub.HandlerRan] and need not be set.
func (h *Hub) SetHandlers(handlers []Handler) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.handlers = handlers
	h.tallies = make([]tally, len(handlers))
	h.handlersRev = h.changed()
}

// HandlerRan counts an attempt of the handler at the index in [Hub.SetHandlers].
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

// SetServed publishes what is watched and what cannot be.
func (h *Hub) SetServed(served Served) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.served = served
	h.servedRev = h.changed()
}

// PutIndex publishes how much there is in an index, in place of what was said before. That
// nothing has changed is no news.
func (h *Hub) PutIndex(index Index) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	i, found := slices.BinarySearchFunc(h.indices, index.ID, func(x Index, id string) int { return strings.Compare(x.ID, id) })
	switch {
	case !found:
		h.indices = slices.Insert(h.indices, i, index)
	case h.indices[i].equal(&index):
		return
	default:
		h.indices[i] = index
	}
	h.indicesRev = h.changed()
}

// PutObject publishes the state of an object, in place of its former one.
func (h *Hub) PutObject(o Object) {
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
		h.graves--
		e.unlink()
	default:
		e.unlink()
	}
	e.object = &o
	e.revision = h.changed()
	e.append(&h.changes)
}

// DropObject tells that an object is gone.
func (h *Hub) DropObject(ref Ref) {
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
	h.graves++

	// Sweeping costs a walk over everything, so it is done as rarely as the number
	// of objects allows: the cost of a drop stays constant on average.
	if live := len(h.objects) - h.graves; h.graves > max(minGraves, live) {
		h.sweep()
	}
}

// sweep forgets all graves.
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
	h.graves = 0
}

// Log publishes a line of the operator's log if its level is wanted.
func (h *Hub) Log(line LogLine) {
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

// LogEnabled tells whether lines of the level are wanted, so that others need not be
// formatted. It is always false for a nil Hub.
func (h *Hub) LogEnabled(level string) bool {
	if h == nil {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return levelRank(level) >= levelRank(h.logLevel)
}

// Bye tells the readers that the operator ends, and why. Nothing is sent after it.
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

// Do passes an intent to the operator.
func (h *Hub) Do(in Intent) Reply {
	if in.Kind == IntentLogLevel {
		if levelRank(in.Value) < 0 {
			return Reply{Error: "no such log level: " + in.Value}
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.logLevel = in.Value
		return Reply{OK: true}
	}
	if h.intents == nil {
		return Reply{Error: "this operator takes no wishes"}
	}
	return h.intents(in)
}

// Index returns a page of an index, and false if there is no such index.
func (h *Hub) Index(id string, offset, limit int) (IndexPage, bool) {
	if h.index == nil {
		return IndexPage{}, false
	}
	return h.index(id, max(0, offset), min(max(0, limit), MaxIndexPage))
}

// Snapshot returns everything that is known now.
func (h *Hub) Snapshot() *Snapshot {
	h.mu.Lock()
	cut := h.cutAll()
	h.mu.Unlock()
	return cut.snapshot()
}

// changed counts a change and wakes the readers. The mutex is held.
func (h *Hub) changed() uint64 {
	h.revision++
	for s := range h.subscriptions {
		s.wake()
	}
	return h.revision
}

// handlersNow returns the handlers with their current counts. The mutex is held.
func (h *Hub) handlersNow() []Handler {
	handlers := slices.Clone(h.handlers)
	for i := range handlers {
		handlers[i].Stats = h.tallies[i].stats()
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

// levelRank orders the log levels; it is negative for what is none of them.
func levelRank(level string) int {
	return slices.Index([]string{"debug", "info", "warn", "error"}, level)
}
