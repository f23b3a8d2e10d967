package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// bareWorkers is how many requests the bare client makes at a time. More do not make
// the server faster.
const bareWorkers = 32

// measureCatchUp lets the operator and the bare client take turns, twice in opposite
// orders: the server gets slower as it fills.
func measureCatchUp(ctx context.Context, l *lab) (_ []row, err error) {
	c, client, err := l.openCluster(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.closeCluster(c)) }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	first, err := l.newLoad(ctx, c, client, "warm")
	if err != nil {
		return nil, err
	}
	t, err := first.learn(ctx)
	if err != nil {
		return nil, err
	}
	var bare, operator []time.Duration
	var peak, cpu, bareCPU float64
	for i, who := range []string{"bare", "operator", "operator", "bare"} {
		ld, err := l.newLoad(ctx, c, client, fmt.Sprintf("catch-up-%d", i))
		if err != nil {
			return nil, err
		}
		if err := client.createMany(ctx, ld.namespace, 0, many, nil); err != nil {
			return nil, err
		}
		if who == "bare" {
			before, err := ownCPU(unix.RUSAGE_SELF)
			if err != nil {
				return nil, err
			}
			took, err := ld.bare(ctx, t)
			if err != nil {
				return nil, err
			}
			after, err := ownCPU(unix.RUSAGE_SELF)
			if err != nil {
				return nil, err
			}
			bare = append(bare, took)
			bareCPU += (after - before).Seconds() * 1000 / many / 2
			l.say("  bare client: %.2f s", took.Seconds())
			continue
		}
		caught, err := ld.catchUp(ctx)
		if err != nil {
			return nil, err
		}
		operator = append(operator, caught.took)
		peak = max(peak, megabytes(caught.memory.peak))
		cpu += caught.cpu.Seconds() * 1000 / many / 2
		l.say("  operator: %.2f s, %.1f MB", caught.took.Seconds(), megabytes(caught.memory.peak))
	}
	ratio := (operator[0] + operator[1]).Seconds() / (bare[0] + bare[1]).Seconds()
	return []row{
		atMost(note("catch-up on %d existing objects: time of a bare client's", many), 1.3, ratio, "%.2f ×",
			note("2 rounds: %.1f s against %.1f s", (operator[0]+operator[1]).Seconds(), (bare[0]+bare[1]).Seconds())),
		atMost("… peak RSS", 60, peak, "%.1f MB", ""),
		{what: "… operator's CPU per object", measured: note("%.2f ms (the bare client's %.2f)", cpu, bareCPU)},
	}, nil
}

// learn finds out which patches the operator makes.
func (ld *load) learn(ctx context.Context) (traces, error) {
	p, err := ld.operate(ctx, program{})
	if err != nil {
		return traces{}, err
	}
	t, err := ld.warm(ctx, p)
	if err != nil {
		return t, err
	}
	_, err = p.stop()
	return t, err
}

// bare lets the bare client make the operator's requests, with the same watch open.
func (ld *load) bare(ctx context.Context, t traces) (time.Duration, error) {
	done := ld.finished.expect(many)
	began := time.Now()
	if err := ld.client.patchMany(ctx, ld.namespace, many, bareWorkers, t); err != nil {
		return 0, err
	}
	select {
	case <-done:
		return time.Since(began), nil
	case <-time.After(patience):
		return 0, errors.New("the patches are not seen")
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

type caughtUp struct {
	took   time.Duration
	memory memory
	cpu    time.Duration
}

// catchUp starts an operator when all objects are there already.
func (ld *load) catchUp(ctx context.Context) (c caughtUp, err error) {
	done := ld.finished.expect(many)
	p, err := ld.operate(ctx, program{})
	if err != nil {
		return c, err
	}
	if err := p.within(ctx, patience, "catching up", done); err != nil {
		return c, err
	}
	c.took = time.Since(p.began)
	if err := ld.lab.profiled(p); err != nil {
		return c, err
	}
	if c.memory, err = memoryOf(p.pid()); err != nil {
		return c, err
	}
	if c.cpu, err = cpuOf(p.pid()); err != nil {
		return c, err
	}
	_, err = p.stop()
	return c, err
}

// settleRequests is how long requests may still come after the last handler was called.
const settleRequests = time.Second

func measureResume(ctx context.Context, l *lab) (_ []row, err error) {
	c, client, err := l.openCluster(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.closeCluster(c)) }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ld, err := l.newLoad(ctx, c, client, "resume")
	if err != nil {
		return nil, err
	}
	t, err := ld.learn(ctx)
	if err != nil {
		return nil, err
	}
	if err := client.createMany(ctx, ld.namespace, 0, many-1, t.annotations); err != nil {
		return nil, err
	}
	before, err := client.writes(ctx)
	if err != nil {
		return nil, err
	}
	resumed := newFinished()
	done := resumed.expect(many)
	p, err := ld.operate(ctx, program{env: []string{"KOPF_BENCH_RESUME=1"}, line: resumed.told})
	if err != nil {
		return nil, err
	}
	if err := p.within(ctx, patience, "resuming", done); err != nil {
		return nil, err
	}
	took := time.Since(p.began)
	time.Sleep(settleRequests)
	if err := l.profiled(p); err != nil {
		return nil, err
	}
	after, err := client.writes(ctx)
	if err != nil {
		return nil, err
	}
	m, err := memoryOf(p.pid())
	if err != nil {
		return nil, err
	}
	if _, err := p.stop(); err != nil {
		return nil, err
	}
	return []row{
		atMost(note("PATCH requests for the resume of %d handled objects", many), 0, float64(after["PATCH"]-before["PATCH"]), "%.0f", ""),
		{what: "… start → the last of them resumed", measured: note("%.2f s", took.Seconds())},
		{what: "… peak RSS", measured: note("%.1f MB", megabytes(m.peak))},
	}, nil
}
