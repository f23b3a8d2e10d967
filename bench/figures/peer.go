package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/kopf-dev/kopf/devcluster"
)

// measurePeer compares the operator with one of controller-runtime. It alternates between them,
// because the load of the machine changes.
func measurePeer(ctx context.Context, l *environment, c *devcluster.Cluster, client *api) ([]row, error) {
	peer, err := l.buildPeer(ctx)
	if err != nil {
		return nil, err
	}
	var used [2]time.Duration
	var peaks [2]int64
	var requests [2]int
	const rounds = 2
	for round := range rounds {
		for i, path := range []string{l.operator, peer} {
			ld, err := l.newLoad(ctx, c, client, fmt.Sprintf("peer-%d-%d", round, i))
			if err != nil {
				return nil, err
			}
			h, err := ld.handling(ctx, path)
			if err != nil {
				return nil, err
			}
			used[i], peaks[i], requests[i] = used[i]+h.cpu, max(peaks[i], h.peak), requests[i]+h.patches
			l.say("  %s: %.2f ms", filepath.Base(path), perObject(h.cpu, fewObjects))
		}
	}
	each := func(i int) float64 { return perObject(used[i], rounds*fewObjects) }
	return []row{
		atMost("operator's CPU per created and handled object, as a multiple of controller-runtime's", 1, each(0)/each(1), "%.2f ×",
			note("%.2f ms, controller-runtime %.2f", each(0), each(1))),
		{what: "PATCH requests of both", measured: note("%.2f, controller-runtime %.2f", float64(requests[0])/rounds/fewObjects, float64(requests[1])/rounds/fewObjects)},
		{what: "peak RSS of both", measured: note("%.1f MB, controller-runtime %.1f", megabytes(peaks[0]), megabytes(peaks[1]))},
	}, nil
}

// handling is the cost of handling created objects.
type handling struct {
	cpu     time.Duration
	patches int
	peak    int64
}

func (ld *load) handling(ctx context.Context, path string) (h handling, err error) {
	p, err := ld.operate(ctx, program{path: path})
	if err != nil {
		return h, err
	}
	if _, err := ld.warm(ctx, p); err != nil {
		return h, err
	}
	before, err := ld.client.writes(ctx)
	if err != nil {
		return h, err
	}
	if h.cpu, err = ld.creations(ctx, p, 0, fewObjects); err != nil {
		return h, err
	}
	after, err := ld.client.writes(ctx)
	if err != nil {
		return h, err
	}
	h.patches = after["PATCH"] - before["PATCH"]
	m, err := memoryOf(p.pid())
	if err != nil {
		return h, err
	}
	h.peak = m.peak
	_, err = p.stop()
	return h, err
}

// buildPeer builds the peer, whose module is not in the workspace, so that nothing else depends
// on its dependencies.
func (l *environment) buildPeer(ctx context.Context) (string, error) {
	l.say("  building the peer")
	path := filepath.Join(l.dir, "controller-runtime")
	cmd := exec.CommandContext(ctx, "go", "build", "-ldflags=-s -w", "-o", path, ".")
	cmd.Dir = filepath.Join(l.root, "bench", "peers", "controllerruntime")
	cmd.Env = append(os.Environ(), "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the operator of controller-runtime: %w\n%s", err, out)
	}
	return path, nil
}
