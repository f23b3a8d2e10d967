package main

import (
	"context"
	"slices"
	"time"

	"github.com/kopf-dev/kopf/devcluster"
)

// catchUps are the times and CPU times of an operator's catch-ups, one for each turn.
type catchUps struct {
	name      string
	program   program
	took, cpu []time.Duration
}

// catchUpInTurns measures the operator and another build of it in turns, each time with new objects. Every second turn has the opposite
// order, because the server becomes slower with more objects.
func (l *environment) catchUpInTurns(ctx context.Context, c *devcluster.Cluster, client *api) ([]row, error) {
	other, operator := &catchUps{name: "other", program: program{path: l.against}}, &catchUps{name: "operator"}
	order := []*catchUps{other, operator}
	for turn := range turns {
		for _, one := range order {
			ld, err := l.newLoad(ctx, c, client, note("%s-%d", one.name, turn))
			if err != nil {
				return nil, err
			}
			if err := client.createMany(ctx, ld.namespace, 0, existingObjects, nil); err != nil {
				return nil, err
			}
			u, err := ld.catchUp(ctx, one.program)
			if err != nil {
				return nil, err
			}
			one.took, one.cpu = append(one.took, u.took), append(one.cpu, u.cpu)
			l.say("  %s: %.2f s, %.2f s of CPU", ld.namespace, u.took.Seconds(), u.cpu.Seconds())
		}
		slices.Reverse(order)
	}
	return catchUpRows(operator, other), nil
}

// catchUpRows compares the catch-ups of the operator with the catch-ups of another build in the same turns.
func catchUpRows(operator, other *catchUps) []row {
	took := ratioRow(note("catch-up on %d existing objects: time of the other operator's", existingObjects), operator.took, other.took)
	took.goal, took.met = "≤ 1.05 ×", median(took.samples) <= 1.05
	return []row{
		took,
		secondsRow("… the operator's", operator.took),
		secondsRow("… the other operator's", other.took),
		ratioRow("… the operator's CPU: the other operator's", operator.cpu, other.cpu),
		secondsRow("… the operator's CPU", operator.cpu),
		secondsRow("… the other operator's CPU", other.cpu),
	}
}

// secondsRow returns the row of times that have no goal.
func secondsRow(what string, samples []time.Duration) row {
	r := row{what: what}
	for _, one := range samples {
		r.samples = append(r.samples, one.Seconds())
	}
	r.measured = note("%.2f s (%s)", median(r.samples), spread(samples))
	return r
}
