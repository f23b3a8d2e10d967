package main

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"github.com/kopf-dev/kopf/devcluster"
)

// bareWorkers is how many requests the bare client makes at a time. More do not make
// the server faster.
const bareWorkers = 32

// measureCatchUp lets the bare client go before and after the operator: the server gets
// slower as it fills, and other programs come and go.
func measureCatchUp(ctx context.Context, l *lab, c *devcluster.Cluster, client *api) ([]row, error) {
	first, err := l.newLoad(ctx, c, client, "warm")
	if err != nil {
		return nil, err
	}
	t, err := first.learn(ctx)
	if err != nil {
		return nil, err
	}
	var bare effort
	var operator caughtUp
	for _, who := range []string{"bare-1", "operator", "bare-2"} {
		ld, err := l.newLoad(ctx, c, client, who)
		if err != nil {
			return nil, err
		}
		if err := client.createMany(ctx, ld.namespace, 0, many, nil); err != nil {
			return nil, err
		}
		if who == "operator" {
			if operator, err = ld.catchUp(ctx); err != nil {
				return nil, err
			}
			l.say("  operator: %.2f s", operator.took.Seconds())
			continue
		}
		once, err := ld.bare(ctx, t, many)
		if err != nil {
			return nil, err
		}
		l.say("  bare client: %.2f s", once.took.Seconds())
		bare.took, bare.cpu = bare.took+once.took/2, bare.cpu+once.cpu/2
	}
	return []row{
		atMost(note("catch-up on %d existing objects: time of a bare client's", many), 1.3, operator.took.Seconds()/bare.took.Seconds(), "%.2f ×",
			note("%.1f s, the bare client %.1f s", operator.took.Seconds(), bare.took.Seconds())),
		atMost("… peak RSS", 60, megabytes(operator.memory.peak), "%.1f MB", ""),
		{what: "… operator's CPU per object", measured: note("%.2f ms (the bare client's %.2f)", perObject(operator.cpu, many), perObject(bare.cpu, many))},
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

// effort is what something takes.
type effort struct{ took, cpu time.Duration }

// perObject is a CPU time in milliseconds.
func perObject(cpu time.Duration, n int) float64 { return cpu.Seconds() * 1000 / float64(n) }

// bare lets the bare client make the operator's requests, with the same watch open.
func (ld *load) bare(ctx context.Context, t traces, n int) (e effort, err error) {
	cpu, err := ownCPU(unix.RUSAGE_SELF)
	if err != nil {
		return e, err
	}
	done := ld.finished.expect(n)
	began := time.Now()
	if err := ld.client.patchMany(ctx, ld.namespace, n, bareWorkers, t); err != nil {
		return e, err
	}
	select {
	case <-done:
	case <-time.After(patience):
		return e, errors.New("the patches are not seen")
	case <-ctx.Done():
		return e, context.Cause(ctx)
	}
	e.took = time.Since(began)
	after, err := ownCPU(unix.RUSAGE_SELF)
	e.cpu = after - cpu
	return e, err
}

type caughtUp struct {
	effort
	memory memory
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

func measureResume(ctx context.Context, l *lab, c *devcluster.Cluster, client *api) ([]row, error) {
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
