// Package limits makes handlers whose calls are limited wait for slots. Objects that wait are not in the queue: nothing but their
// identity is kept. When an object gets a slot, it is handled with its newest version.
package limits

import (
	"maps"
	"sync"

	"github.com/kopf-dev/kopf/sdk/internal/daemons"
	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/slots"
)

// Limits implement [core.CallLimits].
type Limits struct {
	deps  *core.Deps
	table slots.Table

	mu      sync.Mutex
	objects map[queue.Key]*slots.Turns // objects that wait for slots or have some
}

// New returns the limits of an operator.
func New(d *core.Deps) core.CallLimits {
	return &Limits{deps: d, objects: map[queue.Key]*slots.Turns{}}
}

// BeginCycle implements [core.CallLimits].
func (l *Limits) BeginCycle(key queue.Key) {
	if turns := l.find(key); turns != nil {
		turns.BeginCycle()
	}
}

// EndCycle implements [core.CallLimits].
func (l *Limits) EndCycle(key queue.Key) {
	turns := l.find(key)
	if turns == nil || !turns.EndCycle() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.objects[key] == turns {
		delete(l.objects, key)
	}
}

// Forget implements [core.CallLimits].
func (l *Limits) Forget(key queue.Key) {
	l.mu.Lock()
	turns := l.objects[key]
	delete(l.objects, key)
	l.mu.Unlock()
	if turns != nil {
		turns.Leave()
	}
}

// LeaveAll implements [core.CallLimits]. The objects step out of their lines first, because a slot that becomes free would recall
// the next of them.
func (l *Limits) LeaveAll() {
	l.mu.Lock()
	all := maps.Clone(l.objects)
	l.mu.Unlock()
	for _, turns := range all {
		turns.StepOut()
	}
	for _, turns := range all {
		turns.Leave()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.objects, func(_ queue.Key, turns *slots.Turns) bool { return turns.Rest() }) // others have running calls
}

// Reserve implements [core.CallLimits].
func (l *Limits) Reserve(key queue.Key, h *handlers.Handler, s *observe.Subject) bool {
	if l.reserve(key, h, s) {
		return true
	}
	l.Await(h, s)
	return false
}

// reserve holds the lock until the turn has a slot or stands in line. Otherwise, a concurrent [Limits.Forget] could overlook the
// turn, which would then keep its slot for ever.
func (l *Limits) reserve(key queue.Key, h *handlers.Handler, s *observe.Subject) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	turns := l.objects[key]
	if turns == nil {
		turns = new(slots.Turns)
		l.objects[key] = turns
	}
	turn := turns.Of(h, func() *slots.Turn {
		o := s.Object
		stub := object.Stub(o.APIVersion, o.Kind, o.Namespace, o.Name, o.UID, o.ResourceVersion)
		return l.table.NewTurn(h.CallLimit, func() { l.deps.Queue.Recall(key.Resource, stub) })
	})
	return turn.Reserve(s.Object.Deleting)
}

// Begin implements [core.CallLimits].
func (l *Limits) Begin(key queue.Key, h *handlers.Handler) (end func(), ok bool) {
	turns := l.find(key)
	if turns == nil {
		return nil, false
	}
	turn := turns.Of(h, nil)
	if turn == nil || !turn.Begin() {
		return nil, false
	}
	return turn.End, true
}

// NewTurn implements [core.CallLimits].
func (l *Limits) NewTurn(h *handlers.Handler, wake func()) daemons.Turn {
	return l.table.NewTurn(h.CallLimit, wake)
}

// Await implements [core.CallLimits].
func (l *Limits) Await(h *handlers.Handler, s *observe.Subject) {
	observe.Emit(l.deps.Sink, observe.SlotAwaited{Subject: s, Handler: h})
}

func (l *Limits) find(key queue.Key) *slots.Turns {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.objects[key]
}
