package runner

import (
	"testing"
	"testing/synctest"
	"time"
)

// burstEnd returns when a burst of changes at the given times ends.
func burstEnd(t *testing.T, additions ...time.Duration) (ended time.Duration) {
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
				ended = time.Since(started)
				return
			}
		}
		<-b.timer.C
		ended = time.Since(started)
	})
	return ended
}

func TestBurst_EndsAfterQuietPeriod(t *testing.T) {
	ms := time.Millisecond
	if got, want := burstEnd(t, 0), quietPeriod; got != want {
		t.Errorf("a single change ends after %s, want %s", got, want)
	}
	if got, want := burstEnd(t, 0, 30*ms, 60*ms), 60*ms+quietPeriod; got != want {
		t.Errorf("three changes end after %s, want %s", got, want)
	}
	var steady []time.Duration
	for at := time.Duration(0); at < 2*time.Second; at += 30 * ms {
		steady = append(steady, at)
	}
	if got := burstEnd(t, steady...); got != maxBurst {
		t.Errorf("endless changes end after %s, want %s", got, maxBurst)
	}
}

func TestBurst_KnowsTheLastChange(t *testing.T) {
	synctest.Test(t, func(*testing.T) {
		b := newBurst()
		defer b.stop()
		b.add("x.go")
		time.Sleep(30 * time.Millisecond)
		b.add("y.go")
		if got := b.last.Sub(b.first); got != 30*time.Millisecond {
			t.Errorf("the last change is %s after the first", got)
		}
	})
}
