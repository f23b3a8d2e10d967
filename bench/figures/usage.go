package main

import (
	"context"
	"time"
)

// usage is what a program has used since its start.
type usage struct {
	took, cpu time.Duration
	memory    memory
}

// perObject returns a CPU time per object in milliseconds.
func perObject(cpu time.Duration, n int) float64 { return cpu.Seconds() * 1000 / float64(n) }

// runUntil starts an operator and returns its usage when done is closed, then stops it. The CPU
// time and the memory are read after another rest.
func (ld *load) runUntil(ctx context.Context, p program, what string, done <-chan struct{}, rest time.Duration) (u usage, err error) {
	operator, err := ld.operate(ctx, p)
	if err != nil {
		return u, err
	}
	if err := operator.within(ctx, waitLimit, what, done); err != nil {
		return u, err
	}
	u.took = time.Since(operator.began)
	if err := sleep(ctx, rest); err != nil {
		return u, err
	}
	if err := ld.env.profiled(operator); err != nil {
		return u, err
	}
	if u.memory, err = memoryOf(operator.pid()); err != nil {
		return u, err
	}
	if u.cpu, err = cpuOf(operator.pid()); err != nil {
		return u, err
	}
	_, err = operator.stop()
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
