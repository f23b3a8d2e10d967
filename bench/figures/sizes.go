package main

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/kopf-dev/kopf/devcluster"
)

// sizes are the numbers of objects that exist before the operator starts. The first is the base: its figures are
// subtracted from the figures of the other sizes before their growth is compared.
var sizes = []int{1, 1000, 10_000, 100_000}

// parseSizes replaces all sizes but the base.
func parseSizes(text string) error {
	chosen := sizes[:1:1]
	for field := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(field)
		if err != nil || n <= chosen[len(chosen)-1] {
			return fmt.Errorf("want ascending numbers above %d", sizes[0])
		}
		chosen = append(chosen, n)
	}
	sizes = chosen
	return nil
}

const (
	// sampled is how many of the objects are not handled yet when catching up is measured: to handle all of
	// a hundred thousand takes the server ten minutes.
	sampled = 1000

	// idleTime is how long the CPU time of an operator at rest is measured.
	idleTime = 20 * time.Second

	// creators is the number of concurrent requests that create the objects.
	creators = 32
)

// sized is the usage of an operator for a number of objects.
type sized struct {
	n                       int
	index, resume, catchUp  usage
	atRest                  memory
	idle, handling          time.Duration // CPU times: of idleTime, and for [sampled] objects that are created later
	resumePatches, catchups int           // PATCH requests
}

func measureSizes(ctx context.Context, l *environment, c *devcluster.Cluster, client *api) ([]row, error) {
	all := make([]sized, len(sizes))
	for i, n := range sizes {
		ld, err := l.newLoad(ctx, c, client, fmt.Sprintf("size-%d", n))
		if err != nil {
			return nil, err
		}
		if all[i], err = ld.measureSize(ctx, n); err != nil {
			return nil, fmt.Errorf("%d objects: %w", n, err)
		}
	}
	return growthRows(all), nil
}

// measureSize creates n handled objects, and measures operators that find them.
func (ld *load) measureSize(ctx context.Context, n int) (m sized, err error) {
	m.n = n
	t, err := ld.learn(ctx)
	if err != nil {
		return m, err
	}
	began := time.Now()
	err = parallel(n-1, creators, func(i int) error { return ld.client.create(ctx, ld.namespace, numbered(i), t.annotations) })
	if err != nil {
		return m, err
	}
	ld.env.say("  %d objects created in %.0f s", n, time.Since(began).Seconds())
	if m.index, err = ld.index(ctx, n); err != nil {
		return m, err
	}
	ld.env.say("  indexed in %.2f s", m.index.took.Seconds())
	if err := ld.measureResuming(ctx, &m); err != nil {
		return m, err
	}
	ld.env.say("  resumed in %.2f s", m.resume.took.Seconds())
	return m, ld.measureCatchingUp(ctx, &m)
}

// measureResuming measures an operator that calls a resume handler for each object, and then rests.
func (ld *load) measureResuming(ctx context.Context, m *sized) error {
	before, err := ld.client.writes(ctx)
	if err != nil {
		return err
	}
	resumed := newCompletion()
	all := resumed.expect(m.n)
	p, err := ld.operate(ctx, program{env: []string{"KOPF_BENCH_RESUME=1"}, line: resumed.handlerLine})
	if err != nil {
		return err
	}
	if err := p.within(ctx, waitLimit, "resuming", all); err != nil {
		return err
	}
	if m.resume, err = p.usage(); err != nil {
		return err
	}
	if err := sleep(ctx, settleTime); err != nil {
		return err
	}
	rested, err := cpuOf(p.pid())
	if err != nil {
		return err
	}
	if err := sleep(ctx, idleTime); err != nil {
		return err
	}
	end, err := p.usage()
	if err != nil {
		return err
	}
	after, err := ld.client.writes(ctx)
	if err != nil {
		return err
	}
	m.idle, m.atRest, m.resumePatches = end.cpu-rested, end.memory, after["PATCH"]-before["PATCH"]
	_, err = p.stop()
	return err
}

// measureCatchingUp measures an operator that finds some unhandled objects among many handled objects, and later
// handles as many new objects.
func (ld *load) measureCatchingUp(ctx context.Context, m *sized) error {
	if err := ld.client.createMany(ctx, ld.namespace, m.n, m.n+sampled, nil); err != nil {
		return err
	}
	before, err := ld.client.writes(ctx)
	if err != nil {
		return err
	}
	done := ld.completion.expect(sampled + 1) // including the one of warm
	p, err := ld.operate(ctx, program{})
	if err != nil {
		return err
	}
	if err := p.within(ctx, waitLimit, "catching up", done); err != nil {
		return err
	}
	if m.catchUp, err = p.usage(); err != nil {
		return err
	}
	after, err := ld.client.writes(ctx)
	if err != nil {
		return err
	}
	m.catchups = after["PATCH"] - before["PATCH"]
	if err := sleep(ctx, settleTime); err != nil { // it may still be reading the objects that are handled already
		return err
	}
	rested, err := cpuOf(p.pid())
	if err != nil {
		return err
	}
	done = ld.completion.expect(2*sampled + 1)
	if err := ld.client.createMany(ctx, ld.namespace, m.n+sampled, m.n+2*sampled, nil); err != nil {
		return err
	}
	if err := p.within(ctx, waitLimit, "handling the created objects", done); err != nil {
		return err
	}
	end, err := cpuOf(p.pid())
	if err != nil {
		return err
	}
	m.handling = end - rested
	_, err = p.stop()
	return err
}

// growthRows returns a row for each figure, with its values and the exponent of their growth.
func growthRows(all []sized) []row {
	seconds := func(what string, of func(sized) time.Duration) row {
		return growth(what, "%.2f s", resolvedSeconds, all, func(m sized) float64 { return of(m).Seconds() })
	}
	memory := func(what string, of func(sized) int64) row {
		return growth(what, "%.1f MB", resolvedMegabytes, all, func(m sized) float64 { return megabytes(of(m)) })
	}
	rows := []row{
		seconds("start → index complete", func(m sized) time.Duration { return m.index.took }),
		seconds("… CPU", func(m sized) time.Duration { return m.index.cpu }),
		memory("… peak RSS", func(m sized) int64 { return m.index.memory.peak }),
		seconds("start → all resumed", func(m sized) time.Duration { return m.resume.took }),
		seconds("… CPU", func(m sized) time.Duration { return m.resume.cpu }),
		memory("… peak RSS", func(m sized) int64 { return m.resume.memory.peak }),
		memory("… RSS at rest", func(m sized) int64 { return m.atRest.resident }),
		seconds(note("start → %d that are not handled yet are handled, among the others", sampled), func(m sized) time.Duration { return m.catchUp.took }),
		seconds("… CPU", func(m sized) time.Duration { return m.catchUp.cpu }),
	}
	constant := func(what, format string, of func(sized) float64) {
		rows = append(rows, row{what: what, measured: values(format, all, of)})
	}
	constant("CPU at rest, of one core", "%.2f %%", func(m sized) float64 { return 100 * m.idle.Seconds() / idleTime.Seconds() })
	constant(note("CPU for each of %d objects created later", sampled), "%.2f ms", func(m sized) float64 { return perObject(m.handling, sampled) })
	constant("PATCH requests while resuming", "%.0f", func(m sized) float64 { return float64(m.resumePatches) })
	constant(note("PATCH requests while catching up on %d", sampled), "%.0f", func(m sized) float64 { return float64(m.catchups) })
	return rows
}

const (
	// worst is the greatest exponent that counts as linear growth, because times and memory are not exact.
	worst = 1.1

	// resolvedSeconds and resolvedMegabytes are by how much a figure has to exceed that of one object to say
	// something about its growth. CPU times are counted in steps of 0.01 s.
	resolvedSeconds, resolvedMegabytes = 0.02, 2.0
)

// growth returns the row of a figure that grows with the number of objects. Its exponent is computed from the values
// that differ from the first by more than the resolution.
func growth(what, format string, resolution float64, all []sized, of func(sized) float64) row {
	numbers, grown := make([]float64, 0, len(all)), make([]float64, 0, len(all))
	for _, m := range all[1:] {
		if more := of(m) - of(all[0]); more > resolution {
			numbers, grown = append(numbers, float64(m.n)), append(grown, more)
		}
	}
	exponent := growthExponent(numbers, grown)
	r := atMost(what+", exponent", worst, exponent, "%.2f", values(format, all, of))
	for _, m := range all {
		r.samples = append(r.samples, of(m))
	}
	return r
}

// values returns the values for all numbers of objects.
func values(format string, all []sized, of func(sized) float64) string {
	texts := make([]string, len(all))
	for i, m := range all {
		texts[i] = fmt.Sprintf("%d: "+format, m.n, of(m))
	}
	return strings.Join(texts, ", ")
}

// growthExponent returns the exponent of the power of x that fits the values best: the slope of the
// regression line of their logarithms. It is 0 if there are fewer than two values.
func growthExponent(x, y []float64) float64 {
	if len(x) < 2 {
		return 0
	}
	var meanX, meanY float64
	for i := range x {
		meanX += math.Log(x[i]) / float64(len(x))
		meanY += math.Log(y[i]) / float64(len(x))
	}
	var covariance, variance float64
	for i := range x {
		dx := math.Log(x[i]) - meanX
		covariance += dx * (math.Log(y[i]) - meanY)
		variance += dx * dx
	}
	return covariance / variance
}
