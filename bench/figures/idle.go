package main

import (
	"context"
	"path/filepath"
	"time"

	"github.com/kopf-dev/kopf/devcluster"
)

// settleTime is how long an operator is idle before its memory is read.
const settleTime = 10 * time.Second

func measureIdle(ctx context.Context, l *environment, c *devcluster.Cluster, _ *api) ([]row, error) {
	var rows []row
	for _, variant := range []struct {
		what string
		args []string
	}{
		{"idle operator, RSS", nil},
		{"idle operator with an inspector, RSS", []string{"--inspect=unix:" + filepath.Join(l.dir, "inspect.sock")}},
	} {
		p, err := l.startOperator(ctx, c, "", program{args: variant.args})
		if err != nil {
			return nil, err
		}
		if err := sleep(ctx, settleTime); err != nil {
			return nil, err
		}
		m, err := memoryOf(p.pid())
		if err != nil {
			return nil, err
		}
		if _, err := p.stop(); err != nil {
			return nil, err
		}
		rows = append(rows, atMost(variant.what, 20, megabytes(m.resident), "%.1f MB", note("%.1f of it without the executable's pages", megabytes(m.heap))))
	}
	return rows, nil
}
