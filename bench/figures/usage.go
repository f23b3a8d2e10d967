package main

import (
	"context"
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
