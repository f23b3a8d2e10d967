package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/kopf-dev/kopf/devcluster"
)

// indexed are the numbers of objects that show whether the time of an index is linear.
var indexed = []int{few, many, 10_000}

func measureIndex(ctx context.Context, l *lab, c *devcluster.Cluster, client *api) ([]row, error) {
	var rows []row
	for _, n := range indexed {
		// Nobody watches what becomes of the objects: nothing does.
		ld := &load{lab: l, cluster: c, client: client, namespace: fmt.Sprintf("index-%d", n)}
		if err := client.createNamespace(ctx, ld.namespace); err != nil {
			return nil, err
		}
		if err := client.createMany(ctx, ld.namespace, 0, n, nil); err != nil {
			return nil, err
		}
		x, err := ld.index(ctx, n)
		if err != nil {
			return nil, err
		}
		what := note("start → index of %d existing objects complete", n)
		ready := row{what: what, measured: note("%.2f s", x.took.Seconds())}
		if n == many {
			ready = atMost(what, 1, x.took.Seconds(), "%.2f s", "")
		}
		rows = append(rows, ready,
			row{what: "… operator's CPU, in all", measured: note("%.2f s, or %.3f ms for each object", x.cpu.Seconds(), perObject(x.cpu, n))},
			row{what: "… peak RSS", measured: note("%.1f MB", megabytes(x.memory.peak))})
	}
	return rows, nil
}

// index starts an operator that indexes all objects.
func (ld *load) index(ctx context.Context, n int) (x caughtUp, err error) {
	complete := make(chan struct{})
	want := note("indexed-%d ", n)
	p, err := ld.operate(ctx, program{env: []string{"KOPF_BENCH_INDEX=1"}, line: func(line string) {
		if strings.HasPrefix(line, want) {
			close(complete)
		}
	}})
	if err != nil {
		return x, err
	}
	if err := p.within(ctx, patience, "indexing", complete); err != nil {
		return x, err
	}
	x.took = time.Since(p.began)
	if x.memory, err = memoryOf(p.pid()); err != nil {
		return x, err
	}
	if x.cpu, err = cpuOf(p.pid()); err != nil {
		return x, err
	}
	_, err = p.stop()
	return x, err
}
