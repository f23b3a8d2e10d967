package daemons

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
)

func TestGroup_RunsAtMostOneTaskOfAHandler(t *testing.T) {
	all := []*handlers.Handler{
		daemon("asked", patient(3, -1, -1)), daemon("delayed", initially(2)), daemon("failing", backoff(1)),
		timer("quick", interval(0.01)), timer("sharp", interval(0.01), sharp), timer("idle", idle(1)), timer("slow", interval(0.02), backoff(0.01)),
	}
	seeds := uint64(5)
	if testing.Short() {
		seeds = 2
	}
	for seed := range seeds {
		synctest.Test(t, func(t *testing.T) {
			s := newFakeHost(func(ctx context.Context, c call) error {
				switch {
				case c.Handler.ID == "slow":
					time.Sleep(30 * time.Millisecond)
					return failing(errOops)(ctx, c)
				case c.Handler.ID == "failing":
					return errOops
				case c.Handler.Family == handlers.Daemon:
					return untilStopped(ctx, c)
				}
				return nil
			})
			g := group(t, s, all...)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			var wg sync.WaitGroup
			anyhow := func(n uint64, do func(*rand.Rand)) {
				wg.Go(func() {
					r := rand.New(rand.NewPCG(seed, n)) //nolint:gosec // repeatable on purpose
					for ctx.Err() == nil {
						do(r)
						time.Sleep(time.Duration(r.IntN(20)) * time.Millisecond)
					}
				})
			}
			anyhow(1, func(r *rand.Rand) { // the worker of the object
				switch r.IntN(4) {
				case 0:
					g.Stop(OperatorPausing)
				default:
					adjust(g, all[:r.IntN(len(all)+1)])
				}
			})
			anyhow(2, func(*rand.Rand) { g.RetryNow(nil) })
			anyhow(3, func(r *rand.Rand) { g.Update(version(r.IntN(1000)), uint64(1+r.IntN(2))) })
			anyhow(4, func(r *rand.Rand) { g.Stop(Reason(1 << r.IntN(4))) })
			wg.Wait()
			end(t, g)
			s.mu.Lock()
			defer s.mu.Unlock()
			for id, n := range s.busy {
				if n != 0 {
					t.Errorf("seed %d: %d calls of %s go on", seed, n, id)
				}
			}
			if s.most != 1 || len(s.events) < 100 || s.ends < 50 {
				t.Errorf("seed %d: at most %d calls of one at the same time, %d in all, %d ends", seed, s.most, len(s.events), s.ends)
			}
		})
	}
}
