package main

import (
	"context"
	"time"

	"github.com/kopf-dev/kopf/devcluster"
)

func measureResume(ctx context.Context, l *environment, c *devcluster.Cluster, client *api) ([]row, error) {
	ld, err := l.newLoad(ctx, c, client, "resume")
	if err != nil {
		return nil, err
	}
	t, err := ld.learn(ctx)
	if err != nil {
		return nil, err
	}
	if err := client.createMany(ctx, ld.namespace, 0, manyObjects-1, t.annotations); err != nil {
		return nil, err
	}
	before, err := client.writes(ctx)
	if err != nil {
		return nil, err
	}
	resumed := newCompletion()
	p := program{env: []string{"KOPF_BENCH_RESUME=1"}, line: resumed.handlerLine}
	u, err := ld.runUntil(ctx, p, "resuming", resumed.expect(manyObjects), restOf(settleRequests))
	if err != nil {
		return nil, err
	}
	after, err := client.writes(ctx)
	if err != nil {
		return nil, err
	}
	return []row{
		atMost(note("PATCH requests for the resume of %d handled objects", manyObjects), 0, float64(after["PATCH"]-before["PATCH"]), "%.0f", ""),
		{what: "… start → the last of them resumed", measured: note("%.2f s", u.took.Seconds())},
		{what: "… peak RSS", measured: note("%.1f MB", megabytes(u.memory.peak))},
	}, nil
}

// settleRequests is how long the operator may still send requests after the last handler.
const settleRequests = time.Second
