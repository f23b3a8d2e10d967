package conditions

import (
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
)

// Keeper keeps the conditions of all objects whose resources ask for them. It is safe for concurrent use.
type Keeper struct {
	deps *core.Deps

	mu      sync.Mutex
	objects map[queue.Key]*Object
	warned  map[string]bool // logged warnings about resources

	reading sync.Mutex          // held while a schema is read, so that it is read once for all objects
	schemas map[string]*support // schemas of the resources, by their keys
}

// NewKeeper returns the keeper of an operator.
func NewKeeper(d *core.Deps) core.Conditions {
	return &Keeper{deps: d, objects: map[queue.Key]*Object{}, schemas: map[string]*support{}, warned: map[string]bool{}}
}

// Object is the knowledge about the conditions of one object. It does not survive a restart.
type Object struct {
	keeper *Keeper
	served atomic.Pointer[core.ServedResource]

	support *support        // support for the last decision; nil before the first one
	pass    *passed         // the last pass; nil before the first one
	owned   map[string]bool // types of the conditions that handlers have set; nil before managedFields were read
	content string          // see decision; of the last request that the API server has accepted
	refused string          // content that the API server does not store
	written time.Time       // time of the last request
	again   time.Time       // time before which no request is sent after a failed one
	errors  int             // failed requests in a row

	mu  sync.Mutex
	set map[string]condition // unwritten conditions of handlers, by type
}

// passed is the result of a pass.
type passed struct {
	essence uint64
	verdict Verdict
}

// Of implements [core.Conditions].
func (k *Keeper) Of(key queue.Key, served *core.ServedResource) core.ObjectConditions {
	if !served.Handlers.KeepsConditions() {
		return core.NoConditions{}
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
func (o *Object) Set(c metav1.Condition, generation int64) error {
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

// Passed implements [core.ObjectConditions].
func (o *Object) Passed(essence uint64, out handlers.Outcome, health core.Health) {
	o.pass = &passed{essence, ofPass(out, health)}
}

// judge returns the verdict about the handling; false if it is not decided yet, because handlers are left that are called without a
// delay, or because there has been no pass for the essence.
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

// warnOnce reports whether a warning is the first of its kind about a resource.
func (k *Keeper) warnOnce(kind string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	first := !k.warned[kind]
	k.warned[kind] = true
	return first
}
