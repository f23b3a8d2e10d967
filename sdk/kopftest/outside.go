package kopftest

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// An Outside records the calls of an operator to systems outside of the cluster, for [EveryCrash]. The test's fake of the system
// calls [Outside.Do]. The zero value is ready to use, also without EveryCrash.
type Outside struct {
	// Repeatable are the names of the calls that may have more effects after a crash, such as a mail that is sent again.
	Repeatable []string

	// AtMostOnce are the names of the calls that may have fewer effects after a crash, because they are steps of
	// [kopf.StepAtMostOnce].
	AtMostOnce []string

	mu   sync.Mutex
	run  *crashRun       // nil outside of [EveryCrash]
	done map[string]bool // calls with a key that had their effect
}

// effect is an effect of a call.
type effect struct {
	key  string
	life int
}

// String describes the effect.
func (e effect) String() string { return fmt.Sprintf("key %q in life %d", e.key, e.life) }

// Do is a call to the other system: it carries out the effect and returns its error. Name is the name of the call, such as
// "CreateBucket". A call with a key has its effect once, and later calls with this name and key return nil; a call with an empty
// key has an effect each time. EveryCrash kills the operator before the effect, or after the effect and before the answer; then Do
// returns an error. Pass the context of the handler if you have it, because it identifies the operator that makes the call. Do is
// safe for concurrent use, and carries out one effect at a time.
func (o *Outside) Do(ctx context.Context, name, key string, carryOut func() error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.run == nil || o.run.current() == nil {
		_, err := o.once(name, key, carryOut)
		return err
	}
	life, ok := ctx.Value(lifeKey{}).(*crashLife)
	if !ok {
		life = o.run.current()
	}
	if life.dead() {
		return errKilled
	}
	die, after := o.run.occurs(name, name)
	if die && !after {
		life.gate.shut(errKilled)
		return errKilled
	}
	first, err := o.once(name, key, carryOut)
	if first && err == nil {
		o.run.mu.Lock()
		o.run.effects[name] = append(o.run.effects[name], effect{key, life.number})
		o.run.mu.Unlock()
	}
	if die {
		life.gate.shut(errKilled)
		return errKilled
	}
	return err
}

// once carries out an effect, unless a call with the key has already had it.
func (o *Outside) once(name, key string, carryOut func() error) (first bool, err error) {
	id := name + " " + key
	if key != "" && o.done[id] {
		return false, nil
	}
	if err := carryOut(); err != nil {
		return true, err
	}
	if o.done == nil {
		o.done = map[string]bool{}
	}
	o.done[id] = true
	return true, nil
}

// begin forgets the calls of the previous run.
func (o *Outside) begin(r *crashRun) {
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.run, o.done = r, nil
}

// mayHave reports whether a call may have another number of effects after a crash.
func (o *Outside) mayHave(call string, more bool) bool {
	switch {
	case o == nil:
		return false
	case more:
		return slices.Contains(o.Repeatable, call)
	default:
		return slices.Contains(o.AtMostOnce, call)
	}
}
