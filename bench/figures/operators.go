package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/devcluster"
)

const (
	operators     = 10  // operators of one cluster, each with its own namespace
	operatorsEach = 300 // objects that are created in each namespace at the same time
)

// measureOperators measures ten operators of one cluster, and then one operator with as many objects.
func measureOperators(ctx context.Context, l *environment, c *devcluster.Cluster, client *api) ([]row, error) {
	before, err := client.writes(ctx)
	if err != nil {
		return nil, err
	}
	loads, running := make([]*load, operators), make([]*process, operators)
	for i := range operators {
		if loads[i], err = l.newLoad(ctx, c, client, fmt.Sprintf("operator-%d", i)); err != nil {
			return nil, err
		}
		if running[i], err = loads[i].operate(ctx, program{}); err != nil {
			return nil, err
		}
	}
	for i, ld := range loads {
		if _, err := ld.warm(ctx, running[i]); err != nil {
			return nil, err
		}
	}
	started, err := client.writes(ctx)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	cpu, err := createInAll(ctx, loads, running)
	if err != nil {
		return nil, err
	}
	took := time.Since(began)
	after, err := client.writes(ctx)
	if err != nil {
		return nil, err
	}
	var sum, peak int64
	var slowest time.Duration
	for _, p := range running {
		m, err := memoryOf(p.pid())
		if err != nil {
			return nil, err
		}
		sum, peak = sum+m.resident, max(peak, m.peak)
		stopped, err := p.stop()
		if err != nil {
			return nil, err
		}
		slowest = max(slowest, stopped)
	}
	one, err := l.turnOf(ctx, c, client, "one", program{}, operators*operatorsEach)
	if err != nil {
		return nil, err
	}
	n := operators * operatorsEach
	requests := func(verb string) float64 { return float64(after[verb]-started[verb]) / float64(n) }
	return []row{
		{what: note("%d operators, %d objects created in the namespace of each: all handled after", operators, operatorsEach), measured: note("%.1f s", took.Seconds())},
		{what: "… CPU of all for each object", measured: note("%.2f ms, one operator's for as many objects %.2f ms", perObject(cpu, n), perObject(one, n))},
		atMost("… PATCH requests for each object", 2, requests("PATCH"), "%.2f", note("GET %.2f, LIST %.2f", requests("GET"), requests("LIST"))),
		atMost("… LIST requests of each operator's start", 0, float64(started["LIST"]-before["LIST"])/operators-1, "%.1f", "besides one of the measurement's own"),
		atMost("… peak RSS of one of them", 40, megabytes(peak), "%.1f MB", note("%.1f MB all at the end", megabytes(sum))),
		atMost("… slowest shutdown", 2, slowest.Seconds(), "%.2f s", ""),
	}, nil
}

// createInAll creates objects in all namespaces at the same time, and returns the CPU time of the operators
// until all objects are handled.
func createInAll(ctx context.Context, loads []*load, running []*process) (sum time.Duration, err error) {
	cpu, errs := make([]time.Duration, len(loads)), make([]error, len(loads))
	var all sync.WaitGroup
	for i := range loads {
		all.Go(func() { cpu[i], errs[i] = loads[i].creations(ctx, running[i], 0, operatorsEach) })
	}
	all.Wait()
	for i := range loads {
		if errs[i] != nil {
			return 0, fmt.Errorf("operator %d: %w", i, errs[i])
		}
		sum += cpu[i]
	}
	return sum, nil
}
