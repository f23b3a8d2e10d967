package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/devcluster"
)

// sideRounds is how many times the programs handle [sideObjects] at the same time.
const sideRounds, sideObjects = 10, 300

// sideBySide is a program that handles objects of its own while others do the same.
type sideBySide struct {
	load    *load
	running *process
	cpu     []time.Duration // CPU time of each round
}

// measureSideBySide measures the operator, another build of the operator if configured, and the bare client concurrently.
// Other load on the machine affects all programs alike, so the ratios hold on a busy machine too.
func measureSideBySide(ctx context.Context, l *environment, c *devcluster.Cluster, client *api) ([]row, error) {
	return l.besides(ctx, c, client, program{})
}

// measureChildrenSideBySide is measureSideBySide for objects with four children.
func measureChildrenSideBySide(ctx context.Context, l *environment, c *devcluster.Cluster, client *api) ([]row, error) {
	return l.besides(ctx, c, client, program{env: []string{"KOPF_BENCH_CHILDREN=1"}}, bareChildrenVariable+"=1")
}

// besides measures an operator, perhaps another build of it, and the bare client with these variables.
func (l *environment) besides(ctx context.Context, c *devcluster.Cluster, client *api, p program, bareEnv ...string) ([]row, error) {
	operator, t, err := l.startBeside(ctx, c, client, "side-operator", p)
	if err != nil {
		return nil, err
	}
	bareClient, err := bareProgram(t, bareEnv...)
	if err != nil {
		return nil, err
	}
	bare, _, err := l.startBeside(ctx, c, client, "side-bare", bareClient)
	if err != nil {
		return nil, err
	}
	all := []*sideBySide{operator, bare}
	var other *sideBySide
	if l.against != "" {
		p.path = l.against
		if other, _, err = l.startBeside(ctx, c, client, "side-other", p); err != nil {
			return nil, err
		}
		all = append(all, other)
	}
	for round := range sideRounds {
		if err := handleAtOnce(ctx, all, round); err != nil {
			return nil, err
		}
		l.say("  round %d of %d", round+1, sideRounds)
	}
	for _, one := range all {
		if _, err := one.running.stop(); err != nil {
			return nil, err
		}
	}
	rows := []row{ratioRow("operator's CPU per created and handled object: a bare client's, at the same time", operator.cpu, bare.cpu)}
	if other != nil {
		rows = append(rows, ratioRow("… the other operator's", operator.cpu, other.cpu))
	}
	return rows, nil
}

// startBeside starts a program in a namespace of its own, and warms it up.
func (l *environment) startBeside(ctx context.Context, c *devcluster.Cluster, client *api, namespace string, p program) (*sideBySide, handledState, error) {
	ld, err := l.newLoad(ctx, c, client, namespace)
	if err != nil {
		return nil, handledState{}, err
	}
	running, err := ld.operate(ctx, p)
	if err != nil {
		return nil, handledState{}, err
	}
	t, err := ld.warm(ctx, running)
	return &sideBySide{load: ld, running: running}, t, err
}

// handleAtOnce makes all programs handle the objects of a round.
func handleAtOnce(ctx context.Context, all []*sideBySide, round int) error {
	failures := make([]error, len(all))
	var handling sync.WaitGroup
	for i, one := range all {
		handling.Go(func() {
			var cpu time.Duration
			cpu, failures[i] = one.load.creations(ctx, one.running, round*sideObjects, (round+1)*sideObjects)
			one.cpu = append(one.cpu, cpu)
		})
	}
	handling.Wait()
	return errors.Join(failures...)
}
