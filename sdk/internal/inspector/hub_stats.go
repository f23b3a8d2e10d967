package inspector

import (
	"slices"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// Run is one attempt of a handler, to be counted in its [inspect.Stats].
type Run struct {
	At      time.Time // time of its end
	Took    time.Duration
	Outcome RunOutcome
	Error   string // error message of a failure
}

// RunOutcome is how an attempt ended.
type RunOutcome int

// The outcomes of attempts.
const (
	RunSucceeded RunOutcome = iota
	RunRetried              // failed, to be retried
	RunWaiting              // waits for something, to be called again
	RunDenied               // denied a request
	RunFailed               // failed permanently
)

// tallyWindow is the number of attempts for quantiles: the 99th percentile of fewer than 100 would be
// the maximum, and more would hide recent changes.
const tallyWindow = 128

// tally counts the attempts of one handler.
type tally struct {
	counts inspect.Stats
	took   []time.Duration // ring of the newest durations
	recent recent
}

func (t *tally) count(run Run) {
	if len(t.took) < tallyWindow {
		t.took = append(t.took, run.Took)
	} else {
		t.took[t.counts.Runs%tallyWindow] = run.Took
	}
	t.counts.Runs++
	t.recent.count(run.At, run.Took)
	switch run.Outcome {
	case RunSucceeded:
		t.counts.Succeeded++
	case RunRetried:
		t.counts.Retried++
	case RunWaiting:
		t.counts.Waited++
	case RunDenied:
		t.counts.Denied++
	case RunFailed:
		t.counts.Failed++
	}
	if run.Error != "" || run.Outcome == RunRetried || run.Outcome == RunFailed { // an ignored error counts as success
		t.counts.LastError, t.counts.LastAt = run.Error, run.At
	}
}

// stats returns the counts with the quantiles.
func (t *tally) stats() inspect.Stats {
	s := t.counts
	if len(t.took) == 0 {
		return s
	}
	s.P50, s.P99 = quantiles(t.took)
	return s
}

// quantiles returns the median and the 99th percentile of some durations, by the nearest-rank method.
func quantiles(took []time.Duration) (p50, p99 inspect.Duration) {
	sorted := make([]int, len(took)) // microseconds: to sort durations would link 6 KB
	for i, d := range took {
		sorted[i] = int(d.Microseconds())
	}
	slices.Sort(sorted)
	rank := func(percent int) inspect.Duration {
		return inspect.Duration(time.Duration(sorted[(percent*len(sorted)+99)/100-1]) * time.Microsecond)
	}
	return rank(50), rank(99)
}
