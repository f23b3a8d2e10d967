package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	"github.com/kopf-dev/kopf/devcluster"
)

const (
	backgroundObjects = 10000            // the number of objects with a daemon and a timer each
	restTime          = 60 * time.Second // the interval of the timers
)

// state is the state that the operator prints on SIGUSR2.
type state struct {
	goroutines, ticks int
	heap, stacks      int64 // bytes in use; the heap including garbage
}

// backgroundRun reads the output of an operator with daemons and timers.
type backgroundRun struct {
	started *completion
	states  chan state
}

func (a *backgroundRun) line(line string) {
	var s state
	if _, err := fmt.Sscanf(line, "goroutines %d ticks %d heap %d stacks %d", &s.goroutines, &s.ticks, &s.heap, &s.stacks); err == nil {
		a.states <- s
		return
	}
	a.started.handlerLine(line)
}

// ask requests the state of the operator.
func (a *backgroundRun) ask(ctx context.Context, p *process) (state, error) {
	if err := p.cmd.Process.Signal(syscall.SIGUSR2); err != nil {
		return state{}, err
	}
	select {
	case s := <-a.states:
		return s, nil
	case <-p.done:
		return state{}, errors.Join(errors.New("request the state of the operator: it has exited"), p.explain())
	case <-ctx.Done():
		return state{}, context.Cause(ctx)
	}
}

// measureDaemons measures an operator with a daemon for each object.
func measureDaemons(ctx context.Context, l *environment, c *devcluster.Cluster, client *api) ([]row, error) {
	return l.measureTasks(ctx, c, client, "daemons")
}

// measureBackground measures an operator with a daemon and a timer for each object.
func measureBackground(ctx context.Context, l *environment, c *devcluster.Cluster, client *api) ([]row, error) {
	return l.measureTasks(ctx, c, client, "daemons,timers")
}

// measureTasks measures an operator with these kinds of tasks for each object.
func (l *environment) measureTasks(ctx context.Context, c *devcluster.Cluster, client *api, kinds string) ([]row, error) {
	const namespace = "background"
	if err := client.createNamespace(ctx, namespace); err != nil {
		return nil, err
	}
	if err := client.createMany(ctx, namespace, 0, backgroundObjects, nil); err != nil {
		return nil, err
	}
	a := &backgroundRun{started: newCompletion(), states: make(chan state, 1)}
	all := a.started.expect(backgroundObjects)
	p, err := l.startOperator(ctx, c, namespace, program{
		line: a.line, args: []string{"--quiet"}, env: []string{"KOPF_BENCH_BACKGROUND=" + kinds},
	})
	if err != nil {
		return nil, err
	}
	if err := p.within(ctx, waitLimit, "starting the daemons", all); err != nil {
		return nil, err
	}
	took := time.Since(p.began)
	rows, err := measureRest(ctx, a, p, kinds)
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

// maxBackgroundMemory is the goal for the memory of [backgroundObjects] with a daemon each, in megabytes.
const maxBackgroundMemory = 150

// measureRest measures an operator that runs daemons and timers only.
func measureRest(ctx context.Context, a *backgroundRun, p *process, kinds string) ([]row, error) {
	if err := sleep(ctx, settleTime); err != nil {
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
	if err := sleep(ctx, restTime); err != nil {
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
	cpu, ticks := cpuAfter-cpuBefore, after.ticks-before.ticks
	resting := note("%.1f %% of one core", 100*cpu.Seconds()/restTime.Seconds())
	if strings.Contains(kinds, "timers") {
		if ticks == 0 {
			return nil, errors.New("no timer has ticked")
		}
		resting += note(", with %.0f ticks a second, or %.0f µs for a tick", float64(ticks)/restTime.Seconds(), float64(cpu.Microseconds())/float64(ticks))
	}
	return []row{
		{what: note("goroutines of %d objects with %s", backgroundObjects, strings.ReplaceAll(kinds, ",", " and ")),
			measured: note("%d, or %.2f for each object", after.goroutines, float64(after.goroutines)/backgroundObjects)},
		atMost("… RSS at rest", maxBackgroundMemory, megabytes(m.resident), "%.1f MB",
			note("%.1f KB for each object; %.1f MB of it are stacks, %.1f MB heap with garbage",
				float64(m.resident)/1e3/backgroundObjects, megabytes(after.stacks), megabytes(after.heap))),
		{what: "… peak RSS", measured: note("%.1f MB", megabytes(m.peak))},
		{what: "… CPU at rest", measured: resting},
	}, nil
}
