package kopftest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

// crashLife is one life of the operator of a [crashRun].
type crashLife struct {
	number   int // starts at 1
	op       *Operator
	gate     *gate         // shut when the operator is killed
	replaced chan struct{} // closed when the next life has begun
}

func (l *crashLife) dead() bool { return l.gate.ctx.Err() != nil }

// lifeKey is the key of the [crashLife] in the contexts of handlers.
type lifeKey struct{}

// hasten shortens the delays of an operator.
func hasten(o *kopf.Operator) {
	s := &o.Settings
	s.Execution.DefaultRetryDelay = 10 * time.Millisecond
	s.Queueing.ExitTimeout = time.Millisecond
	s.Queueing.ErrorDelays = slices.Values([]time.Duration{10 * time.Millisecond, 50 * time.Millisecond})
}

// start begins the next life.
func (r *crashRun) start() *crashLife {
	c := r.cluster
	r.mu.Lock()
	previous := r.life
	r.mu.Unlock()
	life := &crashLife{number: 1, replaced: make(chan struct{})}
	if previous != nil {
		life.number = previous.number + 1
	}
	configure := []func(*kopf.Operator){r.proxy.Connect, func(*kopf.Operator) { life.gate = r.proxy.lastGate() }, hasten}
	if r.plan.Configure != nil {
		configure = append(configure, r.plan.Configure)
	}
	life.op = c.newOperator(r.plan.Register, configure)
	life.op.life = life
	if previous != nil {
		life.op.managed = previous.op.managed // a new process of the operator manages the same webhooks
	}
	life.op.launch()
	c.mu.Lock()
	c.operators = append(c.operators, life.op) // only now, because reports read the fields that launch sets
	c.mu.Unlock()
	r.mu.Lock()
	r.life = life
	r.lives = append(r.lives, life)
	r.mu.Unlock()
	if previous != nil {
		close(previous.replaced)
	}
	return life
}

// replace starts a new operator when one is killed, until the run ends.
func (r *crashRun) replace(life *crashLife) {
	defer close(r.over)
	for {
		select {
		case <-life.gate.ctx.Done():
		case <-life.op.run.ended:
			if !life.dead() {
				r.cluster.t.Errorf("kopftest: the operator has ended on its own: %v", life.op.run.err)
				return
			}
		case <-r.ending:
			return
		}
		life.op.run.stop()
		if r.plan.Outside != nil && !life.op.awaitEnd(life.op.run) { // a call without the context of its handler counts for the newest life
			return
		}
		life = r.start()
	}
}

// end stops the operator.
func (r *crashRun) end() {
	r.finish()
	if r.current() != nil {
		<-r.over
	}
	for _, life := range r.lives {
		run := life.op.run
		switch {
		case run == nil:
		case life.dead(): // its error is intended
			life.op.run = nil
			run.stop()
			if r.plan.bury != nil {
				r.plan.bury(run)
			} else {
				life.op.awaitEnd(run)
			}
		default:
			life.op.halt()
		}
		life.op.log.close()
	}
}

// current returns the newest life.
func (r *crashRun) current() *crashLife {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.life
}

// eachLife calls a function that waits for a state of the operator, and again for the next life if the operator is killed in
// the meantime. The function returns the reason if the state does not come.
func (r *crashRun) eachLife(what string, wait func(*Operator) (failure string)) {
	c := r.cluster
	c.t.Helper()
	for {
		life := r.current()
		if life == nil {
			c.t.Fatalf("kopftest: %s, but the scenario has not started the operator: see Start", what)
		}
		failure := r.ready(life)
		if failure == "" {
			failure = wait(life.op)
		}
		if !life.dead() {
			if failure != "" {
				c.t.Fatalf("kopftest: %s%s\n%s%s", what, failure, c.overview(), life.op.lastLines())
			}
			return
		}
		select {
		case <-life.replaced:
		case <-r.over:
			c.t.Fatalf("kopftest: %s, but the operator has ended", what)
		}
	}
}

// ready waits until the operator of a life watches its resources.
func (r *crashRun) ready(life *crashLife) (failure string) {
	ctx, cancel := r.cluster.context()
	defer cancel()
	select {
	case <-life.op.run.ready:
		return ""
	case <-life.gate.ctx.Done():
		return ", but it is killed"
	case <-life.op.run.ended:
		return fmt.Sprintf(", but the operator has ended before it was ready: %v", life.op.run.err)
	case <-ctx.Done():
		return fmt.Sprintf(", but the operator is not ready: %v", context.Cause(ctx))
	}
}
