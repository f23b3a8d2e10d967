package main

import (
	"context"
	"time"

	"github.com/kopf-dev/kopf/devcluster"
)

// measureProtocols compares the two protocols of a bare client, in turns.
func measureProtocols(ctx context.Context, l *environment, c *devcluster.Cluster, client *api) ([]row, error) {
	first, err := l.newLoad(ctx, c, client, "protocols")
	if err != nil {
		return nil, err
	}
	t, err := first.learn(ctx)
	if err != nil {
		return nil, err
	}
	var two, one []time.Duration
	for round := range turns {
		for _, variant := range []struct {
			name string
			env  []string
			to   *[]time.Duration
		}{{"http2", nil, &two}, {"http1", []string{bareHTTP1Variable + "=1"}, &one}} {
			p, err := bareProgram(t, variant.env...)
			if err != nil {
				return nil, err
			}
			cpu, err := l.turn(ctx, c, client, note("%s-%d", variant.name, round), p)
			if err != nil {
				return nil, err
			}
			*variant.to = append(*variant.to, cpu)
		}
	}
	return []row{
		perObjectRow("bare client's CPU per object over HTTP/2", two),
		perObjectRow(note("… over HTTP/1.1 with at most %d connections", bareConnections), one),
		ratioRow("… as a multiple of that over HTTP/2", one, two),
	}, nil
}
