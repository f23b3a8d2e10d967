package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/devcluster"
)

const (
	// few and many are the numbers of objects that figures are told for.
	few, many = 1000, 5000

	// patience is far above what any number of objects takes.
	patience = 2 * time.Minute

	pace  = 40 * time.Millisecond // between objects at low load
	paced = 300                   // objects at low load
)

func note(format string, args ...any) string { return fmt.Sprintf(format, args...) }

// load is an operator in a namespace of its own, with a watch that tells what it has done.
type load struct {
	lab       *lab
	cluster   *devcluster.Cluster
	client    *api
	namespace string
	finished  *finished
}

// newLoad prepares a namespace in which nothing is yet.
func (l *lab) newLoad(ctx context.Context, c *devcluster.Cluster, client *api, namespace string) (*load, error) {
	if err := client.createNamespace(ctx, namespace); err != nil {
		return nil, err
	}
	ld := &load{lab: l, cluster: c, client: client, namespace: namespace, finished: newFinished()}
	return ld, client.watch(ctx, namespace, ld.finished.line)
}

func (ld *load) operate(ctx context.Context, p program) (*process, error) {
	return ld.lab.startOperator(ctx, ld.cluster, ld.namespace, p)
}

// warm lets the operator handle one object, so that it is known to be ready.
func (ld *load) warm(ctx context.Context, p *process) (traces, error) {
	done := ld.finished.expect(1)
	if err := ld.client.create(ctx, ld.namespace, "warm", nil); err != nil {
		return traces{}, err
	}
	if err := p.within(ctx, patience, "handling the first object", done); err != nil {
		return traces{}, err
	}
	return ld.client.tracesOf(ctx, ld.namespace, "warm")
}

func measureCreation(ctx context.Context, l *lab, c *devcluster.Cluster, client *api) ([]row, error) {
	ld, err := l.newLoad(ctx, c, client, "creation")
	if err != nil {
		return nil, err
	}
	p, err := ld.operate(ctx, program{})
	if err != nil {
		return nil, err
	}
	t, err := ld.warm(ctx, p)
	if err != nil {
		return nil, err
	}
	requests, err := client.writes(ctx)
	if err != nil {
		return nil, err
	}
	cpu, err := ld.creations(ctx, p, 0, few)
	if err != nil {
		return nil, err
	}
	after, err := client.writes(ctx)
	if err != nil {
		return nil, err
	}
	cpuRest, err := ld.creations(ctx, p, few, many)
	if err != nil {
		return nil, err
	}
	if err := l.profiled(p); err != nil {
		return nil, err
	}
	m, err := memoryOf(p.pid())
	if err != nil {
		return nil, err
	}
	shutdown, err := p.stop()
	if err != nil {
		return nil, err
	}
	floor, err := l.newLoad(ctx, c, client, "bare")
	if err != nil {
		return nil, err
	}
	if err := client.createMany(ctx, floor.namespace, 0, few, nil); err != nil {
		return nil, err
	}
	bare, err := floor.bare(ctx, t, few)
	if err != nil {
		return nil, err
	}
	return []row{
		atMost("operator's CPU per created and handled object", 0.27, perObject(cpu, few), "%.2f ms",
			note("n = %d; the next %d: %.2f ms", few, many-few, perObject(cpuRest, many-few))),
		{what: "… as a multiple of a bare client's, for the same requests", measured: note("%.1f × (%.2f ms)", cpu.Seconds()/bare.cpu.Seconds(), perObject(bare.cpu, few))},
		atMost("PATCH requests per handled creation with a result", 2, float64(after["PATCH"]-requests["PATCH"])/few, "%.2f", ""),
		atMost(note("peak RSS, %d objects created while it runs", many), 40, megabytes(m.peak), "%.1f MB", note("%.1f at the end", megabytes(m.resident))),
		atMost("shutdown after that", 2, shutdown.Seconds(), "%.2f s", ""),
	}, nil
}

// creations creates objects and waits until they are handled. It returns the CPU time
// that the operator took meanwhile.
func (ld *load) creations(ctx context.Context, p *process, from, to int) (time.Duration, error) {
	before, err := cpuOf(p.pid())
	if err != nil {
		return 0, err
	}
	done := ld.finished.expect(to + 1) // with the one to warm up
	if err := ld.client.createMany(ctx, ld.namespace, from, to, nil); err != nil {
		return 0, err
	}
	if err := p.within(ctx, patience, "handling the created objects", done); err != nil {
		return 0, err
	}
	after, err := cpuOf(p.pid())
	return after - before, err
}

// clock notes when something happened to objects.
type clock struct {
	mu sync.Mutex
	at map[string]time.Time
}

func newClock() *clock { return &clock{at: map[string]time.Time{}} }

func (c *clock) note(name string, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.at[name]; !known {
		c.at[name] = at
	}
}

// told takes a line of the operator's.
func (c *clock) told(line string) {
	name, text, _ := strings.Cut(line, " ")
	if ns, err := strconv.ParseInt(text, 10, 64); err == nil {
		c.note(name, time.Unix(0, ns))
	}
}

// since returns the times from another clock's.
func (c *clock) since(began *clock) []time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []time.Duration
	for name, at := range began.at {
		if seen, ok := c.at[name]; ok {
			all = append(all, seen.Sub(at))
		}
	}
	return all
}

func measureLatency(ctx context.Context, l *lab, c *devcluster.Cluster, client *api) ([]row, error) {
	ld, err := l.newLoad(ctx, c, client, "latency")
	if err != nil {
		return nil, err
	}
	created, watched, called := newClock(), newClock(), newClock()
	if err := client.watch(ctx, ld.namespace, func(text []byte) { watched.note(objectName(text), time.Now()) }); err != nil {
		return nil, err
	}
	p, err := ld.operate(ctx, program{line: called.told})
	if err != nil {
		return nil, err
	}
	if _, err := ld.warm(ctx, p); err != nil {
		return nil, err
	}
	done := ld.finished.expect(paced + 1)
	ticker := time.NewTicker(pace)
	defer ticker.Stop()
	for i := range paced {
		created.note(numbered(i), time.Now())
		if err := client.create(ctx, ld.namespace, numbered(i), nil); err != nil {
			return nil, err
		}
		<-ticker.C
	}
	if err := p.within(ctx, patience, "handling the created objects", done); err != nil {
		return nil, err
	}
	shutdown, err := p.stop()
	if err != nil {
		return nil, err
	}
	bare, operator := watched.since(created), called.since(created)
	if len(bare) != paced || len(operator) != paced {
		return nil, fmt.Errorf("of %d objects, %d were watched and %d handled", paced, len(bare), len(operator))
	}
	milliseconds := func(samples []time.Duration, q float64) float64 { return quantile(samples, q).Seconds() * 1000 }
	behind := milliseconds(operator, 0.99) - milliseconds(bare, 0.99)
	return []row{
		atMost("create → handler called, p99: behind a bare watch", 5, behind, "%.1f ms",
			note("%.1f, a bare watch's %.1f", milliseconds(operator, 0.99), milliseconds(bare, 0.99))),
		{what: "… p50", measured: note("%.1f ms (a bare watch's %.1f)", milliseconds(operator, 0.5), milliseconds(bare, 0.5))},
		atMost("shutdown after that", 2, shutdown.Seconds(), "%.2f s", ""),
	}, nil
}
