package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/kopf-dev/kopf/devcluster"
)

// indexed are the numbers of objects for which the index is measured.
var indexed = []int{fewObjects, manyObjects, 10_000}

func measureIndex(ctx context.Context, l *environment, c *devcluster.Cluster, client *api) ([]row, error) {
	var rows []row
	for _, n := range indexed {
		// Without a watch: the operator does not change the objects.
		ld := &load{env: l, cluster: c, client: client, namespace: fmt.Sprintf("index-%d", n)}
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
		if n == manyObjects {
			ready = atMost(what, 1, x.took.Seconds(), "%.2f s", "")
		}
		rows = append(rows, ready,
			row{what: "… operator's CPU, in all", measured: note("%.2f s, or %.3f ms for each object", x.cpu.Seconds(), perObject(x.cpu, n))},
			row{what: "… peak RSS", measured: note("%.1f MB", megabytes(x.memory.peak))})
	}
	return rows, nil
}

// index measures an operator until it has indexed n objects.
func (ld *load) index(ctx context.Context, n int) (usage, error) {
	complete := make(chan struct{})
	want := note("indexed-%d ", n)
	return ld.runUntil(ctx, program{env: []string{"KOPF_BENCH_INDEX=1"}, line: func(line string) {
		if strings.HasPrefix(line, want) {
			close(complete)
		}
	}}, "indexing", complete, restOf(0))
}
