package main

import (
	"context"
	"net/http"
	"time"

	"github.com/kopf-dev/kopf/devcluster"
)

// childKinds are the resources of the children that the operator of the figure keeps, one for each object.
var childKinds = []string{"configmaps", "secrets", "serviceaccounts", "networkpolicies"}

// childrenRest is how long the operator is idle before its memory counts.
const childrenRest = 10 * time.Second

// measureChildren measures an operator that keeps four children of each object: while it creates them, and after a restart.
func measureChildren(ctx context.Context, l *environment, c *devcluster.Cluster, client *api) ([]row, error) {
	ld, err := l.newLoad(ctx, c, client, "children")
	if err != nil {
		return nil, err
	}
	created := newCompletion()
	p := program{env: []string{"KOPF_BENCH_CHILDREN=1"}, line: created.handlerLine}
	operator, err := ld.operate(ctx, p)
	if err != nil {
		return nil, err
	}
	if err := client.create(ctx, ld.namespace, "warm", nil); err != nil {
		return nil, err
	}
	if err := operator.within(ctx, waitLimit, "handling the first object", created.expect(1)); err != nil {
		return nil, err
	}
	before, err := client.requests(ctx, childKinds)
	if err != nil {
		return nil, err
	}
	start, err := cpuOf(operator.pid())
	if err != nil {
		return nil, err
	}
	done := created.expect(1 + manyObjects)
	if err := client.createMany(ctx, ld.namespace, 0, manyObjects, nil); err != nil {
		return nil, err
	}
	if err := operator.within(ctx, waitLimit, "creating children", done); err != nil {
		return nil, err
	}
	if err := sleep(ctx, childrenRest); err != nil {
		return nil, err
	}
	creating, err := operator.usage()
	if err != nil {
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
	u, err := ld.runUntil(ctx, p, "resuming", resumed.expect(1+manyObjects), childrenRest)
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
		{what: "… operator's CPU", measured: note("%.2f ms", perObject(creating.cpu-start, manyObjects))},
		{what: "… RSS at rest", measured: note("%.1f MB", megabytes(creating.memory.resident))},
		atMost(note("restart with %d objects and their four children: applies", manyObjects), 0, float64(restarted["APPLY"]-after["APPLY"]), "%.0f", ""),
		atMost("… start → the last pass", 8, u.took.Seconds(), "%.2f s", ""),
		atMost("… operator's CPU", 3, u.cpu.Seconds(), "%.2f s", ""),
		atMost("… peak RSS", 100, megabytes(u.memory.peak), "%.1f MB", ""),
		atMost("… RSS at rest", 50, megabytes(u.memory.resident), "%.1f MB", ""),
	}, nil
}

func perCreation(before, after map[string]int, verb string) float64 {
	return float64(after[verb]-before[verb]) / manyObjects
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
