package metrics

import (
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// separator joins the values of labels in keys. It is not UTF-8, so no value contains it.
const separator = "\xff"

// values are the values of a metric by its labels. They are never removed.
type values[V any] struct{ m sync.Map }

func (vs *values[V]) of(labels []string) *V {
	key := strings.Join(labels, separator)
	value, ok := vs.m.Load(key)
	if !ok {
		value, _ = vs.m.LoadOrStore(key, new(V))
	}
	return value.(*V)
}

// all returns the values, sorted by their labels.
func (vs *values[V]) all() iter.Seq2[[]string, *V] {
	var keys []string
	vs.m.Range(func(key, _ any) bool {
		keys = append(keys, key.(string))
		return true
	})
	slices.Sort(keys)
	return func(yield func([]string, *V) bool) {
		for _, key := range keys {
			labels := strings.Split(key, separator)
			if !yield(labels, vs.of(labels)) {
				return
			}
		}
	}
}

// counter is a metric that only increases.
type counter struct {
	name, help string
	labels     []string
	values     values[atomic.Uint64]
}

func (c *counter) inc(labels ...string) { c.values.of(labels).Add(1) }

// bounds are the upper bounds of the buckets in seconds: from calls that do nothing to calls that wait
// for other systems. The last bucket has no bound.
var bounds = [...]float64{0.001, 0.005, 0.025, 0.1, 0.5, 1, 5, 30, 120, 600}

// histogram is a metric of durations.
type histogram struct {
	name, help string
	labels     []string
	values     values[buckets]
}

func (h *histogram) observe(took time.Duration, labels ...string) {
	h.values.of(labels).observe(took.Seconds())
}

type buckets struct {
	mu     sync.Mutex
	counts [len(bounds) + 1]uint64
	sum    float64
}

func (b *buckets) observe(seconds float64) {
	i := 0
	for i < len(bounds) && seconds > bounds[i] {
		i++
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.counts[i]++
	b.sum += seconds
}

// read returns counts and sum of the same moment.
func (b *buckets) read() (counts [len(bounds) + 1]uint64, sum float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.counts, b.sum
}
