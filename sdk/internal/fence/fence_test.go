package fence

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// clocks are both clocks of a test.
type clocks struct{ now reading }

func (c *clocks) read() reading { return c.now }

func newGuard() (*Guard, *clocks) {
	c := &clocks{reading{wall: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}}
	return &Guard{clock: c.read}, c
}

func expect(t *testing.T, when string, ctx context.Context, begin, write error) { //nolint:revive // the context is what is tested
	t.Helper()
	if got := MayBegin(ctx); !errors.Is(got, begin) || (begin == nil) != (got == nil) {
		t.Errorf("%s: beginning answers %v, want %v", when, got, begin)
	}
	if got := MayWrite(ctx); !errors.Is(got, write) || (write == nil) != (got == nil) {
		t.Errorf("%s: writing answers %v, want %v", when, got, write)
	}
}

func TestGuard_ContextWithoutGuardsPermitsEverything(t *testing.T) {
	expect(t, "without guards", t.Context(), nil, nil)
	expect(t, "with a zero guard", With(t.Context(), new(Guard)), nil, nil)
	if _, limited := Left(With(t.Context(), new(Guard))); limited {
		t.Error("there is a deadline")
	}
}

func TestGuard_LapsesOnEitherClock(t *testing.T) {
	for _, c := range []struct {
		name       string
		mono, wall time.Duration
		lapsed     bool
	}{
		{"before the deadline", 9 * time.Second, 9 * time.Second, false},
		{"at the deadline", 10 * time.Second, 10 * time.Second, true},
		{"the machine was suspended", time.Second, time.Hour, true},
		{"the wall clock jumped ahead", 0, 10 * time.Second, true},
		{"the wall clock was set back before the deadline", 9 * time.Second, -time.Hour, false},
		{"the wall clock was set back after the deadline", 10 * time.Second, -time.Hour, true},
	} {
		g, now := newGuard()
		ctx := With(t.Context(), new(Guard), g)
		g.renew(now.now, 10*time.Second)
		now.now = reading{now.now.mono + c.mono, now.now.wall.Add(c.wall)}
		if c.lapsed {
			expect(t, c.name, ctx, ErrLapsed, ErrLapsed)
		} else {
			expect(t, c.name, ctx, nil, nil)
		}
	}
}

func TestGuard_DeadlineCountsFromSending(t *testing.T) {
	g, now := newGuard()
	ctx := With(t.Context(), g)
	sent := now.now
	now.now = now.now.add(4 * time.Second) // the answer took so long
	g.renew(sent, 10*time.Second)
	if left, limited := Left(ctx); !limited || left != 6*time.Second {
		t.Errorf("left are %s, %t", left, limited)
	}
	now.now = now.now.add(7 * time.Second)
	sent = now.now.add(-11 * time.Second)
	g.renew(sent, 10*time.Second) // an answer that comes too late permits nothing
	expect(t, "after a late answer", ctx, ErrLapsed, ErrLapsed)
}

func TestGuard_LapseOutlastsRenewal(t *testing.T) {
	g, now := newGuard()
	g.renew(now.now, 10*time.Second)
	ctx := With(t.Context(), g)
	now.now = now.now.add(5 * time.Second)
	if g.renew(now.now, 10*time.Second) {
		t.Error("it lapsed in time")
	}
	now.now = now.now.add(11 * time.Second)
	if !g.renew(now.now, 10*time.Second) {
		t.Error("the lapse is not noticed")
	}
	expect(t, "after the lapse", ctx, ErrLapsed, ErrLapsed)
	if g.renew(now.now, 10*time.Second) {
		t.Error("the lapse is noticed twice")
	}
	g.Raise()
	expect(t, "in the new term, for what began before", ctx, ErrLapsed, ErrLapsed)
	expect(t, "in the new term, in a context that carries the old one", Carry(t.Context(), ctx), ErrLapsed, ErrLapsed)
	expect(t, "for what begins in the new term", With(t.Context(), g), nil, nil)
}

func TestGuard_FreeOneHasNoDeadline(t *testing.T) {
	g, now := newGuard()
	g.renew(now.now, 10*time.Second)
	ctx := With(t.Context(), g)
	if g.Free() {
		t.Error("it lapsed in time")
	}
	now.now = now.now.add(time.Hour)
	expect(t, "long after the deadline that it had", ctx, nil, nil)
	if _, limited := Left(ctx); limited {
		t.Error("there is a deadline")
	}
	g.renew(now.now, 10*time.Second)
	now.now = now.now.add(11 * time.Second)
	if !g.Free() || g.Free() {
		t.Error("the lapse is not noticed, or twice")
	}
	expect(t, "after the lapse", With(t.Context(), g), ErrLapsed, ErrLapsed)
	g.Raise()
	expect(t, "in the new term, for what began before", ctx, ErrLapsed, ErrLapsed)
	expect(t, "in the new term", With(t.Context(), g), nil, nil)
}

func TestGuard_DrainForbidsBeginningOnly(t *testing.T) {
	var g Guard
	ctx := With(t.Context(), &g)
	g.Drain()
	expect(t, "draining", ctx, ErrDraining, nil)
	g.Raise()
	expect(t, "raised", ctx, nil, nil)
	g.Drain()
	g.Drop()
	expect(t, "dropped", ctx, ErrLapsed, ErrLapsed)
	g.Raise()
	expect(t, "raised after a drop", With(ctx, &g), nil, nil)
}

func TestGuard_RealClocksAgree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Guard
		ctx := With(t.Context(), &g)
		g.Renew(time.Now(), 10*time.Second)
		time.Sleep(10*time.Second - 1)
		expect(t, "before the deadline", ctx, nil, nil)
		time.Sleep(time.Nanosecond)
		expect(t, "at the deadline", ctx, ErrLapsed, ErrLapsed)
	})
}
