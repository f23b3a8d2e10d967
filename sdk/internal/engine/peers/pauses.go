package peers

import (
	"cmp"
	"maps"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
)

// PauseKey identifies a reason to pause.
type PauseKey struct {
	Kind inspect.PauseKind
	name string // distinguishes several reasons of one kind; may be empty
}

// Pauses are the reasons why the operator handles no objects. The operator runs while there are none. A pause does not
// interrupt running handlers; the discovery stops the streams, daemons and timers. It is safe for concurrent use.
type Pauses struct {
	deps    *core.Deps
	changed core.Wakeup // raised when the operator is paused or resumed

	mu      sync.Mutex
	reasons map[PauseKey]inspect.Pause
	ending  map[PauseKey]bool     // reasons that are removed when the streams, daemons and timers are stopped
	state   inspect.OperatorState // state without pauses
}

// NewPauses returns an empty set of reasons to pause. The wakeup is raised when a pause begins or ends.
func NewPauses(d *core.Deps, changed core.Wakeup) *Pauses {
	return &Pauses{deps: d, changed: changed, reasons: map[PauseKey]inspect.Pause{}, ending: map[PauseKey]bool{}, state: inspect.OperatorStarting}
}

// Add adds a reason, or replaces the reason with the same key. It returns false if it replaced one.
func (p *Pauses) Add(key PauseKey, why inspect.Pause) (added bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before, had := p.reasons[key]
	why.Kind, why.Since = key.Kind, before.Since
	if !had {
		why.Since = p.deps.Now()
	}
	p.reasons[key] = why
	delete(p.ending, key)
	p.update()
	return !had
}

// Remove removes a reason. It returns false if there was none with the key. Remaining describes the other reasons, if any.
func (p *Pauses) Remove(key PauseKey) (removed bool, remaining string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.drop(key), reasonOf(p.sorted())
}

// drop removes a reason. The lock must be held.
func (p *Pauses) drop(key PauseKey) (dropped bool) {
	if _, dropped = p.reasons[key]; dropped {
		delete(p.reasons, key)
		delete(p.ending, key)
		p.update()
	}
	return dropped
}

// end removes a reason as soon as the discovery has stopped all streams, daemons and timers. Until then, they use
// objects from a time in which other operators may have acted.
func (p *Pauses) end(key PauseKey) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, there := p.reasons[key]; there {
		p.ending[key] = true
		p.changed.Raise()
	}
}

// WhileStopped calls a function that stops the streams, daemons and timers, and then removes the reasons that were ending before.
func (p *Pauses) WhileStopped(stop func()) {
	p.mu.Lock()
	ending := maps.Clone(p.ending)
	p.mu.Unlock()
	stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	for key := range ending {
		if p.ending[key] {
			p.drop(key)
		}
	}
}

// Become sets the state without pauses: running once all objects are known, and finally stopping.
func (p *Pauses) Become(state inspect.OperatorState) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state != inspect.OperatorStopping {
		p.state = state
		p.emit()
	}
}

// Reason returns the joined reasons for the pause; it is empty if the operator is not paused.
func (p *Pauses) Reason() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return reasonOf(p.sorted())
}

// update pauses or resumes the operator, and emits its state. The lock must be held.
func (p *Pauses) update() {
	paused, state := len(p.reasons) > 0, p.deps.State
	if paused {
		state.Pauses.Add(1) // first, so that the next adjustment relists events that are dropped from here on
		state.Pause.Drain()
	} else {
		state.Pause.Raise()
	}
	if state.Paused.Swap(paused) != paused {
		p.changed.Raise()
	}
	p.emit()
}

// emit emits the state of the operator. The lock must be held.
func (p *Pauses) emit() {
	all := p.sorted()
	changed := observe.OperatorChanged{State: p.state, Reason: reasonOf(all), Pauses: all}
	if len(all) > 0 && p.state != inspect.OperatorStopping {
		changed.State = inspect.OperatorPaused
	}
	observe.Emit(p.deps.Sink, changed)
}

// sorted returns the reasons, the oldest first. The lock must be held.
func (p *Pauses) sorted() []inspect.Pause {
	all := slices.Collect(maps.Values(p.reasons))
	sort.Slice(all, func(i, j int) bool {
		a, b := &all[i], &all[j]
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Reason, b.Reason)) < 0
	})
	return all
}

func reasonOf(all []inspect.Pause) string {
	texts := make([]string, len(all))
	for i, why := range all {
		texts[i] = why.Reason
	}
	return strings.Join(texts, "; ")
}
