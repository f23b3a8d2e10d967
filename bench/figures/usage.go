package main

import (
	"context"
	"fmt"
	"time"
)

// usage is the CPU time and memory that a program has used since its start.
type usage struct {
	took, cpu time.Duration
	memory    memory
}

// perObject returns a CPU time per object in milliseconds.
func perObject(cpu time.Duration, n int) float64 { return cpu.Seconds() * 1000 / float64(n) }

// runUntil starts an operator and returns its usage when done is closed, then stops it. The CPU
// time and the memory are read after a rest.
func (ld *load) runUntil(ctx context.Context, p program, what string, done <-chan struct{}, rest func(context.Context, *process) error) (u usage, err error) {
	operator, err := ld.operate(ctx, p)
	if err != nil {
		return u, err
	}
	if err := operator.within(ctx, waitLimit, what, done); err != nil {
		return u, err
	}
	u.took = time.Since(operator.began)
	if err := rest(ctx, operator); err != nil {
		return u, err
	}
	if err := ld.env.profiled(operator); err != nil {
		return u, err
	}
	took := u.took
	if u, err = operator.usage(); err != nil {
		return u, err
	}
	u.took = took
	_, err = operator.stop()
	return u, err
}

// usage returns the CPU time and memory that a program has used since its start.
func (p *process) usage() (u usage, err error) {
	u.took = time.Since(p.began)
	if u.memory, err = memoryOf(p.pid()); err != nil {
		return u, err
	}
	u.cpu, err = cpuOf(p.pid())
	return u, err
}

// sleep waits, unless the context is cancelled first.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// restOf returns a rest with a fixed duration.
func restOf(d time.Duration) func(context.Context, *process) error {
	return func(ctx context.Context, _ *process) error { return sleep(ctx, d) }
}

// quietPeriod is how long a program has to be quiet, and quietLimit bounds the wait for it.
const quietPeriod, quietLimit = 2 * time.Second, 2 * time.Minute

// quiet waits until a program needs no more than a tick of CPU time in a period. An API server may send the events of the last requests
// many seconds after the answers, and a program that has yet to receive them would seem cheaper than another.
func quiet(ctx context.Context, p *process) error {
	before, err := cpuOf(p.pid())
	if err != nil {
		return err
	}
	for began := time.Now(); time.Since(began) < quietLimit; {
		if err := sleep(ctx, quietPeriod); err != nil {
			return err
		}
		after, err := cpuOf(p.pid())
		if err != nil || after-before <= tick {
			return err
		}
		before = after
	}
	return fmt.Errorf("the program needs CPU time for more than %s after the last object was handled", quietLimit)
}
