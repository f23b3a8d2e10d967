package main

import (
	"context"
	"time"

	"github.com/kopf-dev/kopf/devcluster"
)

func measureCreation(ctx context.Context, l *environment, c *devcluster.Cluster, client *api) ([]row, error) {
	ld, err := l.newLoad(ctx, c, client, "creation")
	if err != nil {
		return nil, err
	}
	p, err := ld.operate(ctx, program{})
	if err != nil {
		return nil, err
	}
	t, err := ld.warm(ctx, p)
	if err != nil {
		return nil, err
	}
	requests, err := client.writes(ctx)
	if err != nil {
		return nil, err
	}
	cpu, err := ld.creations(ctx, p, 0, fewObjects)
	if err != nil {
		return nil, err
	}
	after, err := client.writes(ctx)
	if err != nil {
		return nil, err
	}
	cpuRest, err := ld.creations(ctx, p, fewObjects, manyObjects)
	if err != nil {
		return nil, err
	}
	if err := l.profiled(p); err != nil {
		return nil, err
	}
	m, err := memoryOf(p.pid())
	if err != nil {
		return nil, err
	}
	shutdown, err := p.stop()
	if err != nil {
		return nil, err
	}
	floor, err := l.newLoad(ctx, c, client, "bare")
	if err != nil {
		return nil, err
	}
	if err := client.createMany(ctx, floor.namespace, 0, fewObjects, nil); err != nil {
		return nil, err
	}
	bare, err := floor.bare(ctx, t, fewObjects)
	if err != nil {
		return nil, err
	}
	return []row{
		atMost("operator's CPU per created and handled object", 0.27, perObject(cpu, fewObjects), "%.2f ms",
			note("n = %d; the next %d: %.2f ms", fewObjects, manyObjects-fewObjects, perObject(cpuRest, manyObjects-fewObjects))),
		{what: "… as a multiple of a bare client's, for the same requests", measured: note("%.1f × (%.2f ms)", cpu.Seconds()/bare.cpu.Seconds(), perObject(bare.cpu, fewObjects))},
		atMost("PATCH requests per handled creation with a result", 2, float64(after["PATCH"]-requests["PATCH"])/fewObjects, "%.2f", ""),
		atMost(note("peak RSS, %d objects created while it runs", manyObjects), 40, megabytes(m.peak), "%.1f MB", note("%.1f at the end", megabytes(m.resident))),
		atMost("shutdown after that", 2, shutdown.Seconds(), "%.2f s", ""),
	}, nil
}

// creations creates objects and waits until they are handled. It returns the CPU time of the
// operator meanwhile.
func (ld *load) creations(ctx context.Context, p *process, from, to int) (time.Duration, error) {
	before, err := cpuOf(p.pid())
	if err != nil {
		return 0, err
	}
	done := ld.completion.expect(to + 1) // including the one of warm
	if err := ld.client.createMany(ctx, ld.namespace, from, to, nil); err != nil {
		return 0, err
	}
	if err := p.within(ctx, waitLimit, "handling the created objects", done); err != nil {
		return 0, err
	}
	after, err := cpuOf(p.pid())
	return after - before, err
}
