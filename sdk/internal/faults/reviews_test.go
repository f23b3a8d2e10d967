package faults

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopftest"
)

const (
	// sameSlow is how many slow clients of each kind there are at the same time.
	sameSlow = 4
	// maxReviewedMemory limits the memory of the whole process of an operator.
	maxReviewedMemory = 256 << 20
)

var (
	http1 = protocols((*http.Protocols).SetHTTP1)
	http2 = protocols((*http.Protocols).SetHTTP2)
)

func protocols(set func(*http.Protocols, bool)) *http.Protocols {
	p := new(http.Protocols)
	set(p, true)
	return p
}

// rightAndWrong changes an object through the API server until the time is over. Right changes must be admitted, and others
// denied.
func rightAndWrong(ctx context.Context, cluster *kopftest.Cluster) (took []time.Duration) {
	t := cluster.T()
	t.Helper()
	var objects []*kopftest.Object
	for _, k := range reviewedKinds {
		objects = append(objects, cluster.Create(subjectOf(k, "changed", "right")))
	}
	n := 0
	for ctx.Err() == nil {
		n++
		for _, o := range objects {
			began := time.Now()
			if answer := o.TryPatch(map[string]any{"spec": map[string]any{"value": "right", "n": n}}); answer.Err != nil {
				t.Errorf("a right change is denied: %v", answer.Err)
			}
			took = append(took, time.Since(began))
			answer := o.TryPatch(map[string]any{"spec": map[string]any{"value": "wrong", "n": -n}})
			if !denied(answer.Err) {
				t.Errorf("a wrong change is not denied by its handler: %v", answer.Err)
			}
		}
		pause(ctx, soakPace)
	}
	for _, k := range reviewedKinds {
		for _, o := range cluster.List(k.plural + "." + group) {
			if o.Get("metadata.name") != "changed" || o.Get("spec.value") != "right" || o.Get("spec.n") != int64(n) {
				t.Errorf("admitted: %v", o)
			}
		}
	}
	return took
}

func TestReviews_RightOnesAreAnsweredWhileOthersAreSlowOrHuge(t *testing.T) {
	duration := soakTime(t)
	cluster := kopftest.New(t)
	for _, k := range reviewedKinds {
		cluster.Apply(k.definition())
	}
	operator := startReviewed(t, cluster)
	c := &crowd{T: t, operator: operator, answers: map[string]int{}}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var running sync.WaitGroup
	for name, slow := range slowClients {
		for range sameSlow {
			running.Go(func() { slow.run(ctx, c, name) })
		}
	}
	running.Go(func() {
		defer stop()
		for began := time.Now(); ; {
			c.huge(ctx, "16 of 8 MiB", 16, 8<<20, http1, reviewedKinds...)
			c.huge(ctx, "60 streams of 7 MiB", 60, 7<<20, http2, reviewedKinds...)
			if time.Since(began) > duration || !pause(ctx, time.Second) {
				return
			}
		}
	})
	took := rightAndWrong(ctx, cluster)
	running.Wait()
	c.huge(t.Context(), "16 of 8 MiB, alone", 16, 8<<20, http1, reviewedKinds...)
	peak := operator.peak(t)
	t.Logf("%s of reviews: %d right changes took %s at the median and %s at most; the operator had %d MiB at most\n%s",
		duration, len(took), median(took).Round(time.Millisecond), slices.Max(took).Round(time.Millisecond), peak>>20, c.counted())
	for _, what := range []string{"16 of 8 MiB", "16 of 8 MiB, alone", "60 streams of 7 MiB"} {
		for _, answer := range []string{"admitted", "denied"} {
			if c.answers[fmt.Sprintf("%s: %s", what, answer)] == 0 {
				t.Errorf("%s: none was %s", what, answer)
			}
		}
	}
	if peak > maxReviewedMemory {
		t.Errorf("the operator took %d MiB, want at most %d", peak>>20, maxReviewedMemory>>20)
	}
}
