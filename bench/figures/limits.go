package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/devcluster"
)

// ratedObjects is the number of calls that the figure limits spreads over time.
const ratedObjects = 100

// concurrency counts the calls that have printed their beginning and not yet their end.
type concurrency struct {
	mu                   sync.Mutex
	running, most, ended int
}

func (c *concurrency) handlerLine(line string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case strings.HasPrefix(line, "begin-"):
		c.running++
		c.most = max(c.most, c.running)
	case strings.HasPrefix(line, "end-"):
		c.running--
		c.ended++
	}
}

// counts returns the highest number of concurrent calls, and the number of ended calls.
func (c *concurrency) counts() (most, ended int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.most, c.ended
}

// limited is the measurement of an operator whose handler has two slots.
type limited struct {
	usage
	most int // highest number of concurrent calls of the handler

	// watched and called are the times from the creation of the objects of the other handler until a bare watch has received the object,
	// and until the other handler was called.
	watched, called []time.Duration
}

// behind returns the 99th percentile of the times until the call, without the bare watch's, in milliseconds.
func (m limited) behind() float64 {
	return milliseconds(quantile(m.called, 0.99) - quantile(m.watched, 0.99))
}

// measureLimits measures an operator with and without objects that wait for a slot, and an operator that limits the rate of the calls.
func measureLimits(ctx context.Context, l *environment, c *devcluster.Cluster, client *api) ([]row, error) {
	free, err := l.limit(ctx, c, client, "free", 0)
	if err != nil {
		return nil, err
	}
	busy, err := l.limit(ctx, c, client, "busy", manyObjects)
	if err != nil {
		return nil, err
	}
	rated, err := l.rate(ctx, c, client)
	if err != nil {
		return nil, err
	}
	p99 := func(m limited) string {
		return note("%.1f ms, a bare watch's %.1f", milliseconds(quantile(m.called, 0.99)), milliseconds(quantile(m.watched, 0.99)))
	}
	return []row{
		atMost(note("Limit(2), %d existing objects: calls at the same time", manyObjects), 2, float64(busy.most), "%.0f", ""),
		atMost("… peak RSS", 45, megabytes(busy.memory.peak), "%.1f MB", ""),
		atMost("… start → all handled, with calls of 10 ms", 30, busy.took.Seconds(), "%.1f s", ""),
		atMost("… create → another handler called, p99 behind a bare watch: more than without them", 5, busy.behind()-free.behind(), "%.1f ms",
			note("%s; without them, %s", p99(busy), p99(free))),
		between(note("Rate(10, time.Second): first → last of %d calls", ratedObjects), 9.5, 10.5, rated.Seconds(), "%.2f s", ""),
	}, nil
}

// newLimitLoad creates a namespace with objects for the limited handler, and watches it. An object counts as handled when it has the
// last-handled state.
func (l *environment) newLimitLoad(ctx context.Context, c *devcluster.Cluster, client *api, namespace string, existing int, also func(name string)) (*load, error) {
	if err := client.createNamespace(ctx, namespace); err != nil {
		return nil, err
	}
	ld := &load{env: l, cluster: c, client: client, namespace: namespace, completion: newCompletion()}
	if err := client.watch(ctx, namespace, func(line []byte) {
		name := objectName(line)
		also(name)
		if bytes.Contains(line, []byte(`"kopf.zalando.org/last-handled-configuration":"`)) {
			ld.completion.add(name)
		}
	}); err != nil {
		return nil, err
	}
	return ld, client.createMany(ctx, namespace, 0, existing, nil)
}

// limit starts an operator on existing objects for the limited handler, and creates objects for the other handler while some of the
// existing objects still wait.
func (l *environment) limit(ctx context.Context, c *devcluster.Cluster, client *api, namespace string, existing int) (m limited, err error) {
	created, watched, called, calls := newClock(), newClock(), newClock(), &concurrency{}
	ld, err := l.newLimitLoad(ctx, c, client, namespace, existing, func(name string) { watched.note(name, time.Now()) })
	if err != nil {
		return m, err
	}
	p, err := ld.operate(ctx, program{env: []string{"KOPF_BENCH_LIMITS=slots"}, line: func(line string) {
		calls.handlerLine(line)
		called.handlerLine(line)
	}})
	if err != nil {
		return m, err
	}
	// When a tenth is handled, the operator has listed all objects, and the others wait.
	warm := existing / 10
	if existing == 0 {
		if err := client.create(ctx, namespace, "warm", nil); err != nil {
			return m, err
		}
		warm = 1
	}
	if err := p.within(ctx, waitLimit, "handling the first objects", ld.completion.expect(warm)); err != nil {
		return m, err
	}
	ticker := time.NewTicker(latencyInterval)
	defer ticker.Stop()
	for i := range latencyObjects {
		name := note("%s%d", livePrefix, i)
		created.note(name, time.Now())
		if err := client.create(ctx, namespace, name, map[string]string{"live": "yes"}); err != nil {
			return m, err
		}
		<-ticker.C
	}
	if _, ended := calls.counts(); existing > 0 && ended >= existing {
		return m, errors.New("no object waits any longer: the machine is too slow for this measurement")
	}
	if err := p.within(ctx, waitLimit, "handling all objects", ld.completion.expect(max(existing, 1)+latencyObjects)); err != nil {
		return m, err
	}
	if m.usage, err = p.usage(); err != nil {
		return m, err
	}
	if _, err := p.stop(); err != nil {
		return m, err
	}
	m.most, _ = calls.counts()
	m.watched, m.called = watched.since(created), called.since(created)
	if len(m.watched) != latencyObjects || len(m.called) != latencyObjects {
		return m, errors.New(note("of %d objects, %d were watched and %d handled", latencyObjects, len(m.watched), len(m.called)))
	}
	l.say("  %s: %.2f s, at most %d calls at the same time", namespace, m.took.Seconds(), m.most)
	return m, nil
}

// rate returns the time from the first to the last call of an operator that limits the rate of the calls.
func (l *environment) rate(ctx context.Context, c *devcluster.Cluster, client *api) (time.Duration, error) {
	ld, err := l.newLimitLoad(ctx, c, client, "rate", ratedObjects, func(string) {})
	if err != nil {
		return 0, err
	}
	called := newClock()
	if _, err := ld.runUntil(ctx, program{env: []string{"KOPF_BENCH_LIMITS=rate"}, line: func(line string) {
		if name, ok := strings.CutPrefix(line, "begin-"); ok {
			called.handlerLine(name)
		}
	}}, "handling at a limited rate", ld.completion.expect(ratedObjects), restOf(0)); err != nil {
		return 0, err
	}
	return called.spread(ratedObjects)
}
