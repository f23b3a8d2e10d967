package conditions

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
)

// Keeper keeps the conditions of the objects of all resources with kopf.Conditions. It is safe for concurrent use.
type Keeper struct {
	deps *core.Deps

	mu      sync.Mutex
	objects map[queue.Key]*Object
	warned  map[string]bool // warnings that were logged, by kind and resource

	reading sync.Mutex          // held while reading a schema, so that all objects share one read
	schemas map[string]*support // keys are the keys of the resources
}

// NewKeeper returns an operator's Keeper.
func NewKeeper(d *core.Deps) core.Conditions {
	return &Keeper{deps: d, objects: map[queue.Key]*Object{}, schemas: map[string]*support{}, warned: map[string]bool{}}
}

// Object keeps the conditions of one object. It exists only in memory.
type Object struct {
	keeper *Keeper
	served atomic.Pointer[core.ServedResource]

	support *support        // support at the last decision; nil before the first decision
	pass    *passed         // last pass; nil before the first pass
	owned   map[string]bool // types of the conditions that handlers have set; nil before managedFields were read
	content string          // decision.content of the last accepted request; empty after a list
	refused string          // decision.content that the API server does not store; empty if there is none
	written time.Time       // time of the last accepted request
	again   time.Time       // earliest time of the next request after a failed request
	errors  int             // consecutive failed requests

	mu  sync.Mutex
	set map[string]condition // unwritten conditions of handlers, by type
}

// passed is the result of a pass.
type passed struct {
	essence uint64 // hash of the parent's essence at the pass
	verdict Verdict
}

// Of implements [core.Conditions].
func (k *Keeper) Of(key queue.Key, served *core.ServedResource) core.ObjectConditions {
	if !served.Handlers.KeepsConditions() {
		return core.NoConditions
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	o := k.objects[key]
	if o == nil {
		o = &Object{keeper: k}
		k.objects[key] = o
	}
	o.served.Store(served)
	return o
}

// Forget implements [core.Conditions].
func (k *Keeper) Forget(key queue.Key) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.objects, key)
}

// Set implements [core.ObjectConditions].
func (o *Object) Set(c handlers.Condition, generation int64) error {
	made, err := given(c, generation)
	if err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.set == nil {
		o.set = map[string]condition{}
	}
	o.set[made.typ] = made
	return nil
}

// Relisted implements [core.ObjectConditions]. The next request reads which conditions the handlers own, because an apply without a
// condition of another replica would remove it.
func (o *Object) Relisted(outdated bool) {
	o.owned, o.content = nil, ""
	if outdated {
		o.pass = nil // the last verdict can be the other replica's
		o.clear(o.unwritten())
	}
}

// Passed implements [core.ObjectConditions].
func (o *Object) Passed(essence uint64, out handlers.Outcome, health core.Health) {
	o.pass = &passed{essence, ofPass(out, health)}
}

// judge returns the verdict about the handlers of an object. It returns false if the next cycle must call handlers without a delay,
// or if there was no pass for the present essence.
func (o *Object) judge(h *core.Handling) (v Verdict, decided bool) {
	if h.Changing {
		if v, decided = ofChanges(h.Progress, h.Failures); !decided {
			return v, false
		}
	}
	if !h.Reconciles {
		return v, h.Changing
	}
	if o.pass == nil || o.pass.essence != h.Essence {
		return v, false
	}
	return v.and(o.pass.verdict), true
}

// warnOnce records a warning, and reports whether it is the first one of this kind. The kind includes the resource.
func (k *Keeper) warnOnce(kind string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	first := !k.warned[kind]
	k.warned[kind] = true
	return first
}
