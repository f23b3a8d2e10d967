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
	Error   string // error message, unless it succeeded
}

// RunOutcome is how an attempt ended.
type RunOutcome int

// The outcomes of attempts.
const (
	RunSucceeded RunOutcome = iota
	RunRetried              // failed, to be retried
	RunFailed               // failed permanently
)

// tallyWindow is the number of attempts for quantiles: the 99th percentile of fewer than 100 would be
// the maximum, and more would hide recent changes.
const tallyWindow = 128

// tally counts the attempts of one handler.
type tally struct {
	counts inspect.Stats
	took   []time.Duration // ring of the newest durations
}

func (t *tally) count(run Run) {
	if len(t.took) < tallyWindow {
		t.took = append(t.took, run.Took)
	} else {
		t.took[t.counts.Runs%tallyWindow] = run.Took
	}
	t.counts.Runs++
	switch run.Outcome {
	case RunSucceeded:
		t.counts.Succeeded++
	case RunRetried:
		t.counts.Retried++
	case RunFailed:
		t.counts.Failed++
	}
	if run.Error != "" || run.Outcome != RunSucceeded { // an ignored error counts as success
		t.counts.LastError, t.counts.LastAt = run.Error, run.At
	}
}

// stats returns the counts with the quantiles, by the nearest-rank method.
func (t *tally) stats() inspect.Stats {
	s := t.counts
	if len(t.took) == 0 {
		return s
	}
	sorted := slices.Clone(t.took)
	slices.Sort(sorted)
	rank := func(percent int) time.Duration {
		return sorted[(percent*len(sorted)+99)/100-1]
	}
	s.P50, s.P99 = inspect.Duration(rank(50)), inspect.Duration(rank(99))
	return s
}
