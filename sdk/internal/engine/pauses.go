package engine

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
)

// pauseKey identifies a reason to pause.
type pauseKey struct {
	kind inspect.PauseKind
	name string // tells several reasons of a kind apart; may be empty
}

// pauses are the reasons why the operator handles no objects; it handles them while there are none. A
// pause does not interrupt handlers that are running: the discovery stops the streams, daemons and timers.
// It is safe for concurrent use.
type pauses struct {
	state   *runState
	sink    *observe.Sink
	now     func() time.Time
	changed wakeup // raised when the operator is paused or resumed

	mu       sync.Mutex
	reasons  map[pauseKey]inspect.Pause
	ending   map[pauseKey]bool // reasons that go once the streams, daemons and timers have been stopped
	ready    bool              // all objects are known
	stopping bool              // the operator was asked to stop
}

func newPauses(d *deps, changed wakeup) *pauses {
	return &pauses{state: d.state, sink: d.sink, now: d.now, changed: changed, reasons: map[pauseKey]inspect.Pause{}, ending: map[pauseKey]bool{}}
}

// add adds a reason, or replaces the one with this key. It returns false if the key had a reason.
func (p *pauses) add(key pauseKey, why inspect.Pause) (added bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before, had := p.reasons[key]
	why.Kind, why.Since = key.kind, before.Since
	if !had {
		why.Since = p.now()
	}
	p.reasons[key] = why
	delete(p.ending, key)
	p.update()
	return !had
}

// remove removes a reason. It returns false if there is none with this key, and otherwise what still keeps
// the operator paused: an empty text if nothing does.
func (p *pauses) remove(key pauseKey) (removed bool, remaining string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	removed = p.drop(key)
	return removed, reasonOf(p.sorted())
}

// drop removes a reason. The lock must be held.
func (p *pauses) drop(key pauseKey) (dropped bool) {
	if _, dropped = p.reasons[key]; dropped {
		delete(p.reasons, key)
		delete(p.ending, key)
		p.update()
	}
	return dropped
}

// end removes a reason as soon as the discovery has stopped all streams, daemons and timers. They know the objects from a
// time in which other operators may have acted.
func (p *pauses) end(key pauseKey) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, there := p.reasons[key]; there {
		p.ending[key] = true
		p.changed.raise()
	}
}

// whileStopped removes the reasons that end, after the function has stopped the streams, daemons and timers. A reason that
// is added meanwhile stays.
func (p *pauses) whileStopped(stop func()) {
	p.mu.Lock()
	ending := slices.Collect(maps.Keys(p.ending))
	p.mu.Unlock()
	stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, key := range ending {
		if p.ending[key] {
			p.drop(key)
		}
	}
}

// becomeReady notes that all objects are known: the operator runs unless it is paused.
func (p *pauses) becomeReady() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ready = true
	p.tell()
}

// beginStopping notes that the operator stops, paused or not.
func (p *pauses) beginStopping() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopping = true
	p.tell()
}

// reason returns why the operator is paused; it is empty if it is not.
func (p *pauses) reason() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return reasonOf(p.sorted())
}

// update pauses or resumes the operator, and tells it. The lock must be held.
func (p *pauses) update() {
	paused := len(p.reasons) > 0
	if paused {
		p.state.wasPaused.Store(true) // first: events that are dropped from now on must be listed again
	}
	if paused {
		p.state.pause.Drain()
	} else {
		p.state.pause.Raise()
	}
	if p.state.paused.Swap(paused) != paused {
		p.changed.raise()
	}
	p.tell()
}

// tell tells the state of the operator. The lock must be held.
func (p *pauses) tell() {
	all := p.sorted()
	changed := observe.OperatorChanged{State: inspect.OperatorStarting, Reason: reasonOf(all), Pauses: all}
	switch {
	case p.stopping:
		changed.State = inspect.OperatorStopping
	case len(all) > 0:
		changed.State = inspect.OperatorPaused
	case p.ready:
		changed.State = inspect.OperatorRunning
	}
	observe.Tell(p.sink, changed)
}

// sorted returns the reasons, the oldest first. The lock must be held.
func (p *pauses) sorted() []inspect.Pause {
	return slices.SortedFunc(maps.Values(p.reasons), func(a, b inspect.Pause) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Reason, b.Reason))
	})
}

// reasonOf joins the reasons to one text.
func reasonOf(all []inspect.Pause) string {
	texts := make([]string, len(all))
	for i, why := range all {
		texts[i] = why.Reason
	}
	return strings.Join(texts, "; ")
}
