package main

import (
	"context"
	"time"

	"github.com/kopf-dev/kopf/devcluster"
)

// turn starts a program in a namespace of its own, and returns its CPU time for the objects that are
// created while it runs.
func (l *environment) turn(ctx context.Context, c *devcluster.Cluster, client *api, namespace string, p program) (time.Duration, error) {
	cpu, err := l.turnOf(ctx, c, client, namespace, p, fewObjects)
	l.say("  %s: %.3f ms", namespace, perObject(cpu, fewObjects))
	return cpu, err
}

// turnOf is turn for n objects.
func (l *environment) turnOf(ctx context.Context, c *devcluster.Cluster, client *api, namespace string, p program, n int) (time.Duration, error) {
	ld, err := l.newLoad(ctx, c, client, namespace)
	if err != nil {
		return 0, err
	}
	running, err := ld.operate(ctx, p)
	if err != nil {
		return 0, err
	}
	if _, err := ld.warm(ctx, running); err != nil {
		return 0, err
	}
	cpu, err := ld.creations(ctx, running, 0, n)
	if err != nil {
		return 0, err
	}
	_, err = running.stop()
	return cpu, err
}
