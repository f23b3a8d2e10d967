package main

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/kopf-dev/kopf/devcluster"
)

const (
	accompanied = 10000            // objects with a daemon and a timer each
	restTime    = 60 * time.Second // in which each timer ticks once
)

// state is what the operator tells of itself.
type state struct {
	goroutines, ticks int
	heap, stacks      int64 // bytes in use; the heap with garbage
}

// accompaniment follows an operator whose daemons tell when they are started.
type accompaniment struct {
	started *finished
	states  chan state
}

func (a *accompaniment) line(line string) {
	var s state
	if _, err := fmt.Sscanf(line, "goroutines %d ticks %d heap %d stacks %d", &s.goroutines, &s.ticks, &s.heap, &s.stacks); err == nil {
		a.states <- s
		return
	}
	a.started.told(line)
}

// ask asks the operator for its state.
func (a *accompaniment) ask(ctx context.Context, p *process) (state, error) {
	if err := p.cmd.Process.Signal(syscall.SIGUSR2); err != nil {
		return state{}, err
	}
	select {
	case s := <-a.states:
		return s, nil
	case <-p.done:
		return state{}, errors.Join(errors.New("asking the operator for its state: it has ended"), p.explain())
	case <-ctx.Done():
		return state{}, context.Cause(ctx)
	}
}

func measureBackground(ctx context.Context, l *lab, c *devcluster.Cluster, client *api) ([]row, error) {
	const namespace = "background"
	if err := client.createNamespace(ctx, namespace); err != nil {
		return nil, err
	}
	if err := client.createMany(ctx, namespace, 0, accompanied, nil); err != nil {
		return nil, err
	}
	a := &accompaniment{started: newFinished(), states: make(chan state, 1)}
	all := a.started.expect(accompanied)
	p, err := l.startOperator(ctx, c, namespace, program{
		line: a.line, args: []string{"--quiet"}, env: []string{"KOPF_BENCH_BACKGROUND=1"},
	})
	if err != nil {
		return nil, err
	}
	if err := p.within(ctx, patience, "starting the daemons", all); err != nil {
		return nil, err
	}
	took := time.Since(p.began)
	rows, err := measureRest(ctx, a, p)
	if err != nil {
		return nil, err
	}
	if err := l.profiled(p); err != nil {
		return nil, err
	}
	shutdown, err := p.stop()
	if err != nil {
		return nil, err
	}
	return append(rows,
		row{what: "… from the operator's start until all run", measured: note("%.1f s, with a PATCH for each finalizer", took.Seconds())},
		atMost("… shutdown", 2, shutdown.Seconds(), "%.2f s", ""),
	), nil
}

// measureRest looks at an operator that has nothing to do but to accompany its objects.
func measureRest(ctx context.Context, a *accompaniment, p *process) ([]row, error) {
	rest := func(d time.Duration) error {
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if err := rest(settleTime); err != nil {
		return nil, err
	}
	before, err := a.ask(ctx, p)
	if err != nil {
		return nil, err
	}
	cpuBefore, err := cpuOf(p.pid())
	if err != nil {
		return nil, err
	}
	if err := rest(restTime); err != nil {
		return nil, err
	}
	cpuAfter, err := cpuOf(p.pid())
	if err != nil {
		return nil, err
	}
	after, err := a.ask(ctx, p)
	if err != nil {
		return nil, err
	}
	m, err := memoryOf(p.pid())
	if err != nil {
		return nil, err
	}
	ticks := after.ticks - before.ticks
	if ticks == 0 {
		return nil, errors.New("no timer has ticked")
	}
	cpu := cpuAfter - cpuBefore
	return []row{
		{what: note("goroutines of %d objects with a daemon and a timer each", accompanied),
			measured: note("%d, or %.2f for each object", after.goroutines, float64(after.goroutines)/accompanied)},
		{what: "… RSS at rest", measured: note("%.1f MB, or %.1f KB for each object; %.1f MB of it are stacks, %.1f MB heap",
			megabytes(m.resident), float64(m.resident)/1e3/accompanied, megabytes(after.stacks), megabytes(after.heap))},
		{what: note("… CPU at rest, with %.0f ticks a second", float64(ticks)/restTime.Seconds()),
			measured: note("%.1f %% of one core, or %.0f µs for a tick",
				100*cpu.Seconds()/restTime.Seconds(), float64(cpu.Microseconds())/float64(ticks))},
	}, nil
}
