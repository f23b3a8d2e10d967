package main

import (
	"context"

	"github.com/kopf-dev/kopf/devcluster"
)

// measureCatchUp measures the bare client before and after the operator, because the server
// becomes slower with more objects and the load of the machine changes. If another build of the
// operator is configured, it measures the two builds instead.
func measureCatchUp(ctx context.Context, l *environment, c *devcluster.Cluster, client *api) ([]row, error) {
	if l.against != "" {
		return l.catchUpInTurns(ctx, c, client)
	}
	first, err := l.newLoad(ctx, c, client, "warm")
	if err != nil {
		return nil, err
	}
	t, err := first.learn(ctx)
	if err != nil {
		return nil, err
	}
	var bare, operator usage
	for _, who := range []string{"bare-1", "operator", "bare-2"} {
		ld, err := l.newLoad(ctx, c, client, who)
		if err != nil {
			return nil, err
		}
		if err := client.createMany(ctx, ld.namespace, 0, existingObjects, nil); err != nil {
			return nil, err
		}
		if who == "operator" {
			if operator, err = ld.catchUp(ctx, program{}); err != nil {
				return nil, err
			}
			l.say("  operator: %.2f s", operator.took.Seconds())
			continue
		}
		once, err := ld.bare(ctx, t, existingObjects)
		if err != nil {
			return nil, err
		}
		l.say("  bare client: %.2f s", once.took.Seconds())
		bare.took, bare.cpu = bare.took+once.took/2, bare.cpu+once.cpu/2
	}
	return []row{
		atMost(note("catch-up on %d existing objects: time of a bare client's", existingObjects), 1.3, operator.took.Seconds()/bare.took.Seconds(), "%.2f ×",
			note("%.1f s, the bare client %.1f s", operator.took.Seconds(), bare.took.Seconds())),
		atMost("… peak RSS", 60, megabytes(operator.memory.peak), "%.1f MB", ""),
		{what: "… operator's CPU per object", measured: note("%.2f ms (the bare client's %.2f)", perObject(operator.cpu, existingObjects), perObject(bare.cpu, existingObjects))},
	}, nil
}

// learn returns the patches that the operator sends.
func (ld *load) learn(ctx context.Context) (handledState, error) {
	p, err := ld.operate(ctx, program{})
	if err != nil {
		return handledState{}, err
	}
	t, err := ld.warm(ctx, p)
	if err != nil {
		return t, err
	}
	_, err = p.stop()
	return t, err
}

// catchUp measures an operator that starts after all objects were created.
func (ld *load) catchUp(ctx context.Context, p program) (usage, error) {
	return ld.runUntil(ctx, p, "catching up", ld.completion.expect(existingObjects), quiet)
}
