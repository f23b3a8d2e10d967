package main

import (
	"context"
	"slices"
	"time"

	"github.com/kopf-dev/kopf/devcluster"
)

// turns is how many times each program handles [fewObjects], in turns.
var turns = 5

// measureCreation measures the operator and the bare client in turns, because the load of the machine changes. The
// last operator continues with more objects.
func measureCreation(ctx context.Context, l *environment, c *devcluster.Cluster, client *api) ([]row, error) {
	var operator, other, bare []time.Duration
	var last created
	for round := range turns {
		var err error
		if last, err = l.createAndMeasure(ctx, c, client, note("operator-%d", round), round == turns-1); err != nil {
			return nil, err
		}
		operator = append(operator, last.cpu)
		if l.against != "" {
			cpu, err := l.turn(ctx, c, client, note("other-%d", round), program{path: l.against})
			if err != nil {
				return nil, err
			}
			other = append(other, cpu)
		}
		p, err := bareProgram(last.state)
		if err != nil {
			return nil, err
		}
		cpu, err := l.turn(ctx, c, client, note("bare-%d", round), p)
		if err != nil {
			return nil, err
		}
		bare = append(bare, cpu)
	}
	ratio := ratioRow("operator's CPU per created and handled object: a bare client's, for the same events and requests", operator, bare)
	ratio.goal, ratio.met = "≤ 1.50 ×", median(ratios(operator, bare)) <= 1.5
	rows := []row{ratio,
		perObjectRow("… the operator's", operator),
		perObjectRow("… the bare client's", bare),
		{what: note("… the operator's for the next %d", manyObjects-fewObjects), measured: note("%.2f ms", perObject(last.cpuRest, manyObjects-fewObjects))},
		atMost("PATCH requests per handled creation with a result", 2, float64(last.patches)/fewObjects, "%.2f", ""),
		atMost(note("peak RSS, %d objects created while it runs", manyObjects), 40, megabytes(last.memory.peak), "%.1f MB", note("%.1f at the end", megabytes(last.memory.resident))),
		atMost("shutdown after that", 2, last.shutdown.Seconds(), "%.2f s", ""),
	}
	if other != nil {
		rows = append(rows, perObjectRow("… the other operator's", other), ratioRow("the operator's CPU: the other operator's", operator, other))
	}
	return rows, nil
}

// created is the usage of an operator for the objects that were created while it ran.
type created struct {
	cpu, cpuRest time.Duration // CPU time for the first objects, and for the rest
	patches      int           // PATCH requests for the first objects
	memory       memory
	shutdown     time.Duration
	state        handledState
}

// createAndMeasure measures an operator with [fewObjects], and then perhaps with [manyObjects].
func (l *environment) createAndMeasure(ctx context.Context, c *devcluster.Cluster, client *api, namespace string, many bool) (m created, err error) {
	ld, err := l.newLoad(ctx, c, client, namespace)
	if err != nil {
		return m, err
	}
	p, err := ld.operate(ctx, program{})
	if err != nil {
		return m, err
	}
	if m.state, err = ld.warm(ctx, p); err != nil {
		return m, err
	}
	before, err := client.writes(ctx)
	if err != nil {
		return m, err
	}
	if m.cpu, err = ld.creations(ctx, p, 0, fewObjects); err != nil {
		return m, err
	}
	after, err := client.writes(ctx)
	if err != nil {
		return m, err
	}
	m.patches = after["PATCH"] - before["PATCH"]
	l.say("  %s: %.3f ms", namespace, perObject(m.cpu, fewObjects))
	if many {
		if m.cpuRest, err = ld.creations(ctx, p, fewObjects, manyObjects); err != nil {
			return m, err
		}
		if err := l.profiled(p); err != nil {
			return m, err
		}
	}
	if m.memory, err = memoryOf(p.pid()); err != nil {
		return m, err
	}
	m.shutdown, err = p.stop()
	return m, err
}

// creations creates objects and waits until they are handled and the operator is quiet. It returns
// the CPU time of the operator meanwhile.
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
	if err := quiet(ctx, p); err != nil {
		return 0, err
	}
	after, err := cpuOf(p.pid())
	return after - before, err
}

// perObjectRow returns the row of CPU times for [fewObjects].
func perObjectRow(what string, cpu []time.Duration) row {
	r := row{what: what}
	for _, one := range cpu {
		r.samples = append(r.samples, perObject(one, fewObjects))
	}
	r.measured = note("%.2f ms (median of %d, %.2f to %.2f)", perObject(quantile(cpu, 0.5), fewObjects), len(cpu),
		perObject(quantile(cpu, 0), fewObjects), perObject(quantile(cpu, 1), fewObjects))
	return r
}

// ratioRow returns the row of the ratios of CPU times that were measured in turns.
func ratioRow(what string, of, to []time.Duration) row {
	all := ratios(of, to)
	return row{what: what, samples: all,
		measured: note("%.2f × (median of %d, %.2f to %.2f)", median(all), len(all), slices.Min(all), slices.Max(all))}
}

// ratios returns the ratios of times that were measured one after the other.
func ratios(of, to []time.Duration) []float64 {
	all := make([]float64, len(of))
	for i := range of {
		all[i] = of[i].Seconds() / to[i].Seconds()
	}
	return all
}
