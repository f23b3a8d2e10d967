package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// manyMore is enough to see whether the time of an index is linear.
const manyMore = 10_000

func measureIndex(ctx context.Context, l *lab) (_ []row, err error) {
	c, client, err := l.openCluster(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.closeCluster(c)) }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var rows []row
	for _, n := range []int{few, many, manyMore} {
		ld, err := l.newLoad(ctx, c, client, fmt.Sprintf("index-%d", n))
		if err != nil {
			return nil, err
		}
		if err := client.createMany(ctx, ld.namespace, 0, n, nil); err != nil {
			return nil, err
		}
		took, m, err := ld.index(ctx, n)
		if err != nil {
			return nil, err
		}
		what := note("start → index of %d existing objects complete", n)
		ready := row{what: what, measured: note("%.2f s", took.Seconds())}
		if n == many {
			ready = atMost(what, 1, took.Seconds(), "%.2f s", "")
		}
		rows = append(rows, ready, row{what: "… peak RSS", measured: note("%.1f MB", megabytes(m.peak))})
	}
	return rows, nil
}

// index starts an operator that indexes all objects.
func (ld *load) index(ctx context.Context, n int) (took time.Duration, m memory, err error) {
	complete := make(chan struct{})
	want := note("indexed-%d ", n)
	p, err := ld.operate(ctx, program{env: []string{"KOPF_BENCH_INDEX=1"}, line: func(line string) {
		if strings.HasPrefix(line, want) {
			close(complete)
		}
	}})
	if err != nil {
		return 0, m, err
	}
	if err := p.within(ctx, patience, "indexing", complete); err != nil {
		return 0, m, err
	}
	took = time.Since(p.began)
	time.Sleep(settleRequests) // the handler is called for all the others
	if m, err = memoryOf(p.pid()); err != nil {
		return 0, m, err
	}
	_, err = p.stop()
	return took, m, err
}
