package queue

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// catchUpBeside handles 5,000 listed objects, or 1,000 with -short, on a server that answers 250 requests in a second, one for each object,
// while a live object comes in each interval. It returns the time until the listed objects are handled, and the waiting times of the live
// objects, in ascending order. The times are simulated.
func catchUpBeside(t *testing.T, interval time.Duration) (took time.Duration, waits []time.Duration) {
	t.Helper()
	objects := 5000
	if testing.Short() {
		objects = 1000
	}
	var mu sync.Mutex
	var server, done chan struct{}
	listed, put := 0, map[string]time.Time{}
	bubble(t, Options{Process: func(ctx context.Context, b *Batch) *Next {
		mu.Lock()
		if at, live := put[b.Key.Object]; live {
			waits = append(waits, time.Since(at))
		}
		mu.Unlock()
		defer kube.BeginRequest(ctx)()
		server <- struct{}{}
		time.Sleep(4 * time.Millisecond)
		<-server
		if b.Key.Resource == "listed" {
			mu.Lock()
			defer mu.Unlock()
			if listed++; listed == objects {
				close(done)
			}
		}
		return nil
	}}, func(_ *testing.T, q *Queue) {
		server, done = make(chan struct{}, 1), make(chan struct{}) // within the bubble of virtual time
		began := time.Now()
		for i := range objects {
			q.Put("listed", event(watch.Listed, fmt.Sprint(i), "1"))
		}
		for i := 0; ; i++ {
			next := make(<-chan time.Time)
			if interval > 0 {
				next = time.After(interval)
			}
			select {
			case <-done:
				took = time.Since(began)
				return
			case <-next:
			}
			name := fmt.Sprint("live-", i)
			mu.Lock()
			put[name] = time.Now()
			mu.Unlock()
			q.Put("live", event(watch.Added, name, "1"))
		}
	})
	slices.Sort(waits)
	return took, waits
}

func TestClass_LiveObjectsDuringACatchUp(t *testing.T) {
	alone, _ := catchUpBeside(t, 0)
	for name, tt := range map[string]struct {
		interval, longest time.Duration
		ratio             float64
	}{
		"25 in a second":           {40 * time.Millisecond, 50 * time.Millisecond, 1.15}, // the server needs a tenth of its time for them
		"half of the capacity":     {8 * time.Millisecond, 50 * time.Millisecond, 2.2},
		"twice the whole capacity": {2 * time.Millisecond, 0, 16},
	} {
		if testing.Short() && tt.longest == 0 {
			continue // needs more time than all other tests of the package together
		}
		took, waits := catchUpBeside(t, tt.interval)
		if ratio := took.Seconds() / alone.Seconds(); ratio > tt.ratio {
			t.Errorf("%s: the catch-up takes %.2f times as long", name, ratio)
		}
		p99 := waits[len(waits)*99/100]
		t.Logf("%s: %s instead of %s, p99 of %d live objects: %s", name, took, alone, len(waits), p99)
		if tt.longest > 0 && p99 > tt.longest {
			t.Errorf("%s: live objects wait for %s", name, p99)
		}
	}
}
