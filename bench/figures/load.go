package main

import (
	"context"
	"fmt"
	"time"

	"github.com/kopf-dev/kopf/devcluster"
)

const (
	// fewObjects and manyObjects are the numbers of objects of the measurements.
	fewObjects, manyObjects = 1000, 5000

	// waitLimit bounds every wait for the operator.
	waitLimit = 15 * time.Minute

	latencyInterval = 40 * time.Millisecond // the time between creations at low load
	latencyObjects  = 300                   // the number of objects at low load
)

// existingObjects is the number of objects that exist before the operator of the figures catchup, overtaking and steps starts.
var existingObjects = manyObjects

func note(format string, args ...any) string { return fmt.Sprintf(format, args...) }

// load is a namespace for one operator, with a watch of its objects.
type load struct {
	env        *environment
	cluster    *devcluster.Cluster
	client     *api
	namespace  string
	completion *completion
}

// newLoad creates a namespace and watches it.
func (l *environment) newLoad(ctx context.Context, c *devcluster.Cluster, client *api, namespace string) (*load, error) {
	if err := client.createNamespace(ctx, namespace); err != nil {
		return nil, err
	}
	ld := &load{env: l, cluster: c, client: client, namespace: namespace, completion: newCompletion()}
	return ld, client.watch(ctx, namespace, ld.completion.line)
}

func (ld *load) operate(ctx context.Context, p program) (*process, error) {
	return ld.env.startOperator(ctx, ld.cluster, ld.namespace, p)
}

// warm waits until the operator has handled one object, so that it is ready.
func (ld *load) warm(ctx context.Context, p *process) (handledState, error) {
	done := ld.completion.expect(1)
	if err := ld.client.create(ctx, ld.namespace, "warm", nil); err != nil {
		return handledState{}, err
	}
	if err := p.within(ctx, waitLimit, "handling the first object", done); err != nil {
		return handledState{}, err
	}
	return ld.client.readHandledState(ctx, ld.namespace, "warm")
}
