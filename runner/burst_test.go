package runner

import (
	"testing"
	"testing/synctest"
	"time"
)

// settleAt returns when a burst of additions, at the given times, is over.
func settleAt(t *testing.T, additions ...time.Duration) (over time.Duration) {
	t.Helper()
	synctest.Test(t, func(*testing.T) {
		started := time.Now()
		b := newBurst()
		defer b.stop()
		for _, at := range additions {
			select {
			case <-time.After(at - time.Since(started)):
				b.add("x.go")
			case <-b.timer.C:
				over = time.Since(started)
				return
			}
		}
		<-b.timer.C
		over = time.Since(started)
	})
	return over
}

func TestABurstOfChangesIsOverWhenTheFilesAreLeftAlone(t *testing.T) {
	ms := time.Millisecond
	if got, want := settleAt(t, 0), quiet; got != want {
		t.Errorf("one change is over after %s, want %s", got, want)
	}
	if got, want := settleAt(t, 0, 30*ms, 60*ms), 60*ms+quiet; got != want {
		t.Errorf("three changes are over after %s, want %s", got, want)
	}
	var steady []time.Duration
	for at := time.Duration(0); at < 2*time.Second; at += 30 * ms {
		steady = append(steady, at)
	}
	if got := settleAt(t, steady...); got != patience {
		t.Errorf("changes without end are taken after %s, want %s", got, patience)
	}
}
