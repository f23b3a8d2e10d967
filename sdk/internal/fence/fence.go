// Package fence answers whether this process may act on objects now. A process that was frozen, or whose machine was
// suspended, runs on beside the timers that would have stopped it. Each call of a handler and each request that writes
// asks first, and the answer comes from the clocks.
package fence

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

var (
	// ErrDraining is returned while nothing may begin, but outcomes may be recorded.
	ErrDraining = errors.New("nothing begins now: the operator is paused, stops, or hands the object over")

	// ErrLapsed is returned while nothing may begin and nothing may be written: another replica or another operator may act.
	ErrLapsed = errors.New("this process may not act on the object now: its lease has lapsed, and another process may act")
)

// Guard is one condition on which this process acts. The zero value permits everything, and has no deadline. It is safe
// for concurrent use.
type Guard struct {
	clock    func() reading // nil unless a test replaces it
	until    atomic.Pointer[reading]
	draining atomic.Bool
	dropped  atomic.Bool
	term     atomic.Int64 // grows with each [Guard.Raise] after a lapse
}

// reading is a moment on two clocks. The monotonic one stands still while a machine is suspended; the wall clock can be
// set. Whichever is ahead counts: that can cost a term, but never makes two processes act.
type reading struct {
	mono time.Duration // since the process started
	wall time.Time     // has no monotonic reading
}

// epoch is the zero of the monotonic clock.
var epoch = time.Now()

func readingOf(t time.Time) reading { return reading{mono: t.Sub(epoch), wall: t.Round(0)} }

func (r reading) add(d time.Duration) reading { return reading{mono: r.mono + d, wall: r.wall.Add(d)} }

func (g *Guard) now() reading {
	if g.clock != nil {
		return g.clock()
	}
	return readingOf(time.Now())
}

// Renew sets the deadline to a time after the request that renewed the lease or the record was sent. It returns true if
// the deadline before had passed unnoticed: then the guard stays closed until [Guard.Raise].
func (g *Guard) Renew(sent time.Time, valid time.Duration) (lapsed bool) {
	return g.renew(readingOf(sent), valid)
}

func (g *Guard) renew(sent reading, valid time.Duration) (lapsed bool) {
	lapsed = g.Lapsed() && !g.dropped.Swap(true)
	until := sent.add(valid)
	g.until.Store(&until)
	return lapsed
}

// Free removes the deadline: nothing is held that could expire. Like [Guard.Renew], it returns true if the deadline had
// passed unnoticed: then the guard stays closed until [Guard.Raise].
func (g *Guard) Free() (lapsed bool) {
	lapsed = g.Lapsed() && !g.dropped.Swap(true)
	g.until.Store(nil)
	return lapsed
}

// Drain makes nothing begin until [Guard.Raise].
func (g *Guard) Drain() { g.draining.Store(true) }

// Drop makes nothing begin and nothing be written until [Guard.Raise].
func (g *Guard) Drop() { g.dropped.Store(true) }

// Raise permits everything until the deadline. After a lapse, it begins a new term: the contexts of earlier ones, see
// [With], stay closed.
func (g *Guard) Raise() {
	if g.dropped.Load() {
		g.term.Add(1)
		g.dropped.Store(false)
	}
	g.draining.Store(false)
}

// Lapsed reports whether nothing may be written.
func (g *Guard) Lapsed() bool { return g.dropped.Load() || g.left() <= 0 }

// noDeadline is longer than any lease.
const noDeadline = time.Duration(1<<63 - 1)

// left returns the time until the deadline on the clock that is ahead.
func (g *Guard) left() time.Duration {
	until := g.until.Load()
	if until == nil {
		return noDeadline
	}
	now := g.now()
	return min(until.mono-now.mono, until.wall.Sub(now.wall))
}

// key is the context's key of its passes.
type key struct{}

// pass is a guard in a context, for one of its terms.
type pass struct {
	guard *Guard
	term  int64
}

func (p pass) lapsed() bool { return p.term != p.guard.term.Load() || p.guard.Lapsed() }

// With returns a context with these guards, which replace the earlier ones, for the present term of each. Once one guard
// lapses, the context stays closed.
func With(ctx context.Context, all ...*Guard) context.Context {
	passes := make([]pass, len(all))
	for i, g := range all {
		passes[i] = pass{g, g.term.Load()}
	}
	return context.WithValue(ctx, key{}, passes)
}

// Carry returns a context with the guards and the terms of another one.
func Carry(ctx, from context.Context) context.Context {
	return context.WithValue(ctx, key{}, passesOf(from))
}

func passesOf(ctx context.Context) []pass {
	passes, _ := ctx.Value(key{}).([]pass)
	return passes
}

// MayBegin returns nil if a handler may be called now, and else [ErrDraining] or [ErrLapsed]. A context without guards
// permits everything.
func MayBegin(ctx context.Context) error {
	if err := MayWrite(ctx); err != nil {
		return err
	}
	for _, p := range passesOf(ctx) {
		if p.guard.draining.Load() {
			return ErrDraining
		}
	}
	return nil
}

// MayWrite returns nil if a request that writes may be sent now, and else [ErrLapsed].
func MayWrite(ctx context.Context) error {
	for _, p := range passesOf(ctx) {
		if p.lapsed() {
			return ErrLapsed
		}
	}
	return nil
}

// Left returns how long writing is permitted; false if there is no deadline.
func Left(ctx context.Context) (left time.Duration, limited bool) {
	left = noDeadline
	for _, p := range passesOf(ctx) {
		left = min(left, p.guard.left())
	}
	return left, left != noDeadline
}
