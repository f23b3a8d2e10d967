package main

import (
	"context"
	"math"
	"net/http"
	"time"

	"github.com/kopf-dev/kopf/devcluster"
)

// childKinds are the resources of the children that the operator of the figure keeps, one for each object.
var childKinds = []string{"configmaps", "secrets", "serviceaccounts", "networkpolicies"}

// childrenRest is how long the operator is idle before its memory counts.
const childrenRest = 10 * time.Second

// measureChildren measures an operator that keeps four children of each object: while it creates them, in turns with the bare
// client, and after a restart.
func measureChildren(ctx context.Context, l *environment, c *devcluster.Cluster, client *api) ([]row, error) {
	kopf := program{env: []string{"KOPF_BENCH_CHILDREN=1"}}
	var operator, other, bare []time.Duration
	for round := range turns {
		namespace := note("operator-%d", round)
		cpu, err := l.childrenTurn(ctx, c, client, namespace, kopf)
		if err != nil {
			return nil, err
		}
		operator = append(operator, cpu)
		state, err := client.readHandledState(ctx, namespace, "warm")
		if err != nil {
			return nil, err
		}
		bareClient, err := bareProgram(state, bareChildrenVariable+"=1")
		if err != nil {
			return nil, err
		}
		if l.against != "" {
			against := kopf
			against.path = l.against
			if cpu, err = l.childrenTurn(ctx, c, client, note("other-%d", round), against); err != nil {
				return nil, err
			}
			other = append(other, cpu)
		}
		if cpu, err = l.childrenTurn(ctx, c, client, note("bare-%d", round), bareClient); err != nil {
			return nil, err
		}
		bare = append(bare, cpu)
	}
	ratio := ratioRow("operator's CPU per object with four new children: a bare client's, for the same events and requests", operator, bare)
	ratio.goal, ratio.met = "≤ 1.50 ×", median(ratios(operator, bare)) <= 1.5
	rows, err := l.manyChildren(ctx, c, client, kopf)
	all := []row{ratio, perObjectRow("… the operator's", operator), perObjectRow("… the bare client's", bare)}
	if other != nil {
		all = append(all, perObjectRow("… the other operator's", other), ratioRow("the operator's CPU: the other operator's", operator, other))
	}
	return append(all, rows...), err
}

// childrenTurn returns the CPU time of a program for the children of [fewObjects].
func (l *environment) childrenTurn(ctx context.Context, c *devcluster.Cluster, client *api, namespace string, p program) (time.Duration, error) {
	ld, err := l.newLoad(ctx, c, client, namespace)
	if err != nil {
		return 0, err
	}
	called := newCompletion()
	p.line = called.handlerLine
	running, err := ld.operate(ctx, p)
	if err != nil {
		return 0, err
	}
	if err := ld.firstCall(ctx, running, called); err != nil {
		return 0, err
	}
	before, err := cpuOf(running.pid())
	if err != nil {
		return 0, err
	}
	if err := ld.createUntil(ctx, running, called, fewObjects); err != nil {
		return 0, err
	}
	after, err := cpuOf(running.pid())
	if err != nil {
		return 0, err
	}
	l.say("  %s: %.3f ms", namespace, perObject(after-before, fewObjects))
	_, err = running.stop()
	return after - before, err
}

// firstCall waits until a program has handled one object, so that it is ready.
func (ld *load) firstCall(ctx context.Context, p *process, called *completion) error {
	if err := ld.client.create(ctx, ld.namespace, "warm", nil); err != nil {
		return err
	}
	return p.within(ctx, waitLimit, "handling the first object", called.expect(1))
}

// createUntil creates n objects, and waits until the program has printed all of them.
func (ld *load) createUntil(ctx context.Context, p *process, called *completion, n int) error {
	done := called.expect(1 + n) // including the first one
	if err := ld.client.createMany(ctx, ld.namespace, 0, n, nil); err != nil {
		return err
	}
	return p.within(ctx, waitLimit, "creating children", done)
}

// manyChildren measures the operator with [manyObjects], and its restart.
func (l *environment) manyChildren(ctx context.Context, c *devcluster.Cluster, client *api, p program) ([]row, error) {
	ld, err := l.newLoad(ctx, c, client, "children")
	if err != nil {
		return nil, err
	}
	created := newCompletion()
	p.line = created.handlerLine
	operator, err := ld.operate(ctx, p)
	if err != nil {
		return nil, err
	}
	if err := ld.firstCall(ctx, operator, created); err != nil {
		return nil, err
	}
	before, err := client.requests(ctx, childKinds)
	if err != nil {
		return nil, err
	}
	if err := ld.createUntil(ctx, operator, created, manyObjects); err != nil {
		return nil, err
	}
	after, err := client.requests(ctx, childKinds)
	if err != nil {
		return nil, err
	}
	if _, err := operator.stop(); err != nil {
		return nil, err
	}
	resumed := newCompletion()
	p.line = resumed.handlerLine
	u, err := ld.runUntil(ctx, p, "resuming", resumed.expect(1+manyObjects), restOf(childrenRest))
	if err != nil {
		return nil, err
	}
	restarted, err := client.requests(ctx, childKinds)
	if err != nil {
		return nil, err
	}
	return []row{
		atMost("requests for the creation of four children: reads of metadata", 4, perCreation(before, after, "GET"), "%.2f", ""),
		atMost("… applies", 4, perCreation(before, after, "APPLY"), "%.2f", ""),
		atMost(note("restart with %d objects and their four children: applies", manyObjects), 0, float64(restarted["APPLY"]-after["APPLY"]), "%.0f", ""),
		atMost("… reads of children, whose readiness is judged", 0, float64(restarted["GET"]-after["GET"]), "%.0f", ""),
		atMost("… start → the last pass", 8, u.took.Seconds(), "%.2f s", ""),
		atMost("… operator's CPU", 3, u.cpu.Seconds(), "%.2f s", ""),
		atMost("… peak RSS", 100, megabytes(u.memory.peak), "%.1f MB", ""),
		atMost(note("… RSS after %s at rest", childrenRest), 50, megabytes(u.memory.resident), "%.1f MB", ""),
	}, nil
}

// perCreation returns the number of requests for each object, with two decimals: the server itself sends some.
func perCreation(before, after map[string]int, verb string) float64 {
	return math.Round(float64(after[verb]-before[verb])/manyObjects*100) / 100
}

// requests returns the number of requests for resources by verb, as counted by the server.
func (a *api) requests(ctx context.Context, resources []string) (map[string]int, error) {
	text, err := a.do(ctx, http.MethodGet, "/metrics", "", nil)
	if err != nil {
		return nil, err
	}
	all := map[string]int{}
	for _, resource := range resources {
		counts, err := parseRequests(string(text), resource)
		if err != nil {
			return nil, err
		}
		for verb, n := range counts {
			all[verb] += n
		}
	}
	return all, nil
}
