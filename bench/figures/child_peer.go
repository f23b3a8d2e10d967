package main

import (
	"context"
	"time"

	"github.com/kopf-dev/kopf/devcluster"
)

// measureChildPeer compares the operator that keeps four children of each object with one of controller-runtime, in turns. Then it
// measures a restart of the latter with [manyObjects].
func measureChildPeer(ctx context.Context, l *environment, c *devcluster.Cluster, client *api) ([]row, error) {
	path, err := l.buildPeer(ctx)
	if err != nil {
		return nil, err
	}
	operator := program{env: []string{"KOPF_BENCH_CHILDREN=1"}}
	peer := program{path: path, env: operator.env}
	var used, usedByPeer []time.Duration
	for round := range turns {
		cpu, err := l.childrenTurn(ctx, c, client, note("operator-%d", round), operator)
		if err != nil {
			return nil, err
		}
		used = append(used, cpu)
		if cpu, err = l.childrenTurn(ctx, c, client, note("runtime-%d", round), peer); err != nil {
			return nil, err
		}
		usedByPeer = append(usedByPeer, cpu)
	}
	rows, err := l.manyChildren(ctx, c, client, peer)
	for i := range rows {
		rows[i].what, rows[i].goal = "controller-runtime: "+rows[i].what, "" // the goals are the operator's
	}
	return append([]row{
		ratioRow("operator's CPU per object with four new children: controller-runtime's", used, usedByPeer),
		perObjectRow("… the operator's", used), perObjectRow("… controller-runtime's", usedByPeer),
	}, rows...), err
}
