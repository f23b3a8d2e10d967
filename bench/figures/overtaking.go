package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kopf-dev/kopf/devcluster"
)

// livePrefix begins the names of objects that are created while the operator catches up.
const livePrefix = "live-"

// measureOvertaking measures three operators that start on many existing objects: one without new objects, and two with a tenth and with
// half as many new objects in each second as the first operator has handled. If another build of the operator is configured, it is
// measured with a tenth as well.
func measureOvertaking(ctx context.Context, l *environment, c *devcluster.Cluster, client *api) ([]row, error) {
	p99 := func(samples []time.Duration) float64 { return milliseconds(quantile(samples, 0.99)) }
	alone, _, err := l.overtake(ctx, c, client, "alone", program{}, 0)
	if err != nil {
		return nil, err
	}
	tenth := 10 * alone / time.Duration(existingObjects)
	low, few, err := l.overtake(ctx, c, client, "tenth", program{}, tenth)
	if err != nil {
		return nil, err
	}
	var compared []row
	if l.against != "" {
		took, other, err := l.overtake(ctx, c, client, "other", program{path: l.against}, tenth)
		if err != nil {
			return nil, err
		}
		compared = []row{
			{what: "the other operator: create → handler called, p99 with a tenth", measured: note("%.1f ms (%d objects; a bare watch's %.1f)",
				p99(other.called), len(other.called), p99(other.watched))},
			{what: "… time of the operator's catch-up: of the other operator's", measured: note("%.2f × (%.1f s, the other operator %.1f s)",
				low.Seconds()/took.Seconds(), low.Seconds(), took.Seconds())},
		}
	}
	half, many, err := l.overtake(ctx, c, client, "half", program{}, 2*alone/time.Duration(existingObjects))
	if err != nil {
		return nil, err
	}
	rows := []row{
		atMost("create → handler called during a catch-up, p99", 50, p99(few.called), "%.1f ms",
			note("%d objects; a bare watch's %.1f", len(few.called), p99(few.watched))),
		atMost(note("time of the catch-up on %d objects with that load: of the time without", existingObjects), 1.3, low.Seconds()/alone.Seconds(), "%.2f ×",
			note("%.1f s, and %.1f s without", low.Seconds(), alone.Seconds())),
		atMost("… with half of that rate as new objects", 2.2, half.Seconds()/alone.Seconds(), "%.2f ×",
			note("%.1f s, %d new objects, p99 %.1f ms, a bare watch's %.1f", half.Seconds(), len(many.called), p99(many.called), p99(many.watched))),
	}
	return append(rows, compared...), nil
}

// reached are the times from the creation of the new objects until a bare watch has received them, and until their handler was called.
type reached struct{ watched, called []time.Duration }

// overtake starts an operator on many existing objects, creates an object in each interval until all of the existing ones are handled, and
// returns how long that takes. If the interval is 0, it creates none.
func (l *environment) overtake(ctx context.Context, c *devcluster.Cluster, client *api, namespace string, p program, interval time.Duration) (time.Duration, reached, error) {
	fail := func(err error) (time.Duration, reached, error) { return 0, reached{}, err }
	if err := client.createNamespace(ctx, namespace); err != nil {
		return fail(err)
	}
	ld := &load{env: l, cluster: c, client: client, namespace: namespace, completion: newCompletion()}
	created, watched, called, calls := newClock(), newClock(), newClock(), newCompletion()
	if err := client.watch(ctx, namespace, func(text []byte) {
		if name := objectName(text); strings.HasPrefix(name, livePrefix) {
			watched.note(name, time.Now())
			return
		}
		ld.completion.line(text)
	}); err != nil {
		return fail(err)
	}
	if err := client.createMany(ctx, namespace, 0, existingObjects, nil); err != nil {
		return fail(err)
	}
	began := time.Now()
	p.line = func(line string) {
		called.handlerLine(line)
		calls.handlerLine(line)
	}
	operator, err := ld.operate(ctx, p)
	if err != nil {
		return fail(err)
	}
	if err := operator.within(ctx, waitLimit, "handling the first object", ld.completion.expect(1)); err != nil {
		return fail(err)
	}
	creating, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- client.createEvery(creating, namespace, interval, created) }()
	if err := operator.within(ctx, waitLimit, "catching up", ld.completion.expect(existingObjects)); err != nil {
		return fail(err)
	}
	took := time.Since(began)
	stop()
	if err := <-ended; err != nil {
		return fail(err)
	}
	if err := operator.within(ctx, waitLimit, "handling the new objects", calls.expect(existingObjects+len(created.at))); err != nil {
		return fail(err)
	}
	l.say("  %s: %.2f s, with %d new objects", namespace, took.Seconds(), len(created.at))
	if _, err := operator.stop(); err != nil {
		return fail(err)
	}
	return took, reached{watched.since(created), called.since(created)}, nil
}

// simultaneous is the number of objects that [api.createEvery] creates at the same time.
const simultaneous = 8

// createEvery creates an object in each interval until the context ends.
func (a *api) createEvery(ctx context.Context, namespace string, interval time.Duration, created *clock) error {
	if interval <= 0 {
		return nil
	}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	var wg sync.WaitGroup
	var number atomic.Int64
	errs := make([]error, simultaneous)
	for i := range simultaneous {
		wg.Go(func() {
			for errs[i] == nil {
				select {
				case <-ctx.Done():
					return
				case <-ticker.C:
				}
				name := fmt.Sprint(livePrefix, number.Add(1))
				created.note(name, time.Now())
				// An object whose creation is interrupted would be missing.
				errs[i] = a.create(context.WithoutCancel(ctx), namespace, name, nil)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
