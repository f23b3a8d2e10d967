package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/devcluster"
)

// clock records when something first happened to each object.
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

// handlerLine handles a line of the operator: the name of an object and a time.
func (c *clock) handlerLine(line string) {
	name, text, _ := strings.Cut(line, " ")
	if ns, err := strconv.ParseInt(text, 10, 64); err == nil {
		c.note(name, time.Unix(0, ns))
	}
}

// since returns the durations since the times of another clock.
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

// spread returns the duration from the first to the last of so many times.
func (c *clock) spread(n int) (time.Duration, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.at) != n {
		return 0, fmt.Errorf("%d of %d objects have a time", len(c.at), n)
	}
	times := slices.SortedFunc(maps.Values(c.at), time.Time.Compare)
	return times[n-1].Sub(times[0]), nil
}

func measureLatency(ctx context.Context, l *environment, c *devcluster.Cluster, client *api) ([]row, error) {
	ld, err := l.newLoad(ctx, c, client, "latency")
	if err != nil {
		return nil, err
	}
	created, watched, called := newClock(), newClock(), newClock()
	if err := client.watch(ctx, ld.namespace, func(text []byte) { watched.note(objectName(text), time.Now()) }); err != nil {
		return nil, err
	}
	p, err := ld.operate(ctx, program{line: called.handlerLine})
	if err != nil {
		return nil, err
	}
	if _, err := ld.warm(ctx, p); err != nil {
		return nil, err
	}
	done := ld.completion.expect(latencyObjects + 1)
	ticker := time.NewTicker(latencyInterval)
	defer ticker.Stop()
	for i := range latencyObjects {
		created.note(numbered(i), time.Now())
		if err := client.create(ctx, ld.namespace, numbered(i), nil); err != nil {
			return nil, err
		}
		<-ticker.C
	}
	if err := p.within(ctx, waitLimit, "handling the created objects", done); err != nil {
		return nil, err
	}
	shutdown, err := p.stop()
	if err != nil {
		return nil, err
	}
	bare, operator := watched.since(created), called.since(created)
	if len(bare) != latencyObjects || len(operator) != latencyObjects {
		return nil, fmt.Errorf("of %d objects, %d were watched and %d handled", latencyObjects, len(bare), len(operator))
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
