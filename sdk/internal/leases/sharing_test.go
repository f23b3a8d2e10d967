package leases

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/shards"
)

var sixteen = shards.Division{Shards: 16, Key: shards.ByUID}

// member is a running replica.
type member struct {
	sharing *Sharing
	line    *line
	cancel  context.CancelCauseFunc
	done    chan struct{}
}

// crowd are replicas that come and go.
type crowd struct {
	t       *testing.T
	arena   *arena
	server  *server
	random  *rand.Rand
	members map[string]*member
	started int
	left    sync.WaitGroup
}

func newCrowd(t *testing.T, seed uint64) *crowd {
	random := func(stream uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, stream)) } //nolint:gosec // it has to be the same in each run
	return &crowd{t: t, arena: newArena(t, random(2)), server: newServer(), random: random(1), members: map[string]*member{}}
}

func (c *crowd) join(d shards.Division) string {
	c.started++
	who := fmt.Sprintf("replica-%02d", c.started)
	m := &member{line: &line{server: c.server, random: rand.New(rand.NewPCG(uint64(c.started), 3))}, done: make(chan struct{})} //nolint:gosec // see above
	m.sharing = newReplica(c.t, m.line, c.arena, who, d)
	ctx, cancel := context.WithCancelCause(context.Background())
	m.cancel = cancel
	c.members[who] = m
	go func() {
		defer close(m.done)
		m.sharing.Run(ctx)
	}()
	return who
}

// leave ends a replica gracefully: its handlers have ended before it releases the leases.
func (c *crowd) leave(who string) {
	m := c.members[who]
	delete(c.members, who)
	m.sharing.Leave()
	c.left.Go(func() {
		time.Sleep(2 * time.Second)
		c.arena.kill(who)
		m.cancel(nil)
		<-m.done
	})
}

// kill cuts a replica off and ends it, so that it cannot release its leases.
func (c *crowd) kill(who string) {
	m := c.members[who]
	delete(c.members, who)
	m.line.set(func(l *line) { l.cut = true })
	c.arena.kill(who)
	m.cancel(ErrBusy)
	c.left.Go(func() { <-m.done })
}

func (c *crowd) end() {
	for _, who := range slices.Sorted(maps.Keys(c.members)) {
		c.kill(who)
	}
	c.left.Wait()
	time.Sleep(time.Minute) // what stops its handlers ends
}

// expectShares fails the test unless the shards are divided evenly.
func (c *crowd) expectShares(want ...int) {
	c.t.Helper()
	counts := c.arena.counts()
	got := slices.Sorted(maps.Values(counts))
	if !slices.Equal(got, want) {
		c.t.Errorf("the replicas hold %v, want %v", counts, want)
	}
}

func TestSharing_SharesAreEvenWhenReplicasComeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, 1)
		defer c.end()
		first := c.join(sixteen)
		time.Sleep(5 * time.Second)
		c.expectShares(16)
		second := c.join(sixteen)
		time.Sleep(time.Minute)
		c.expectShares(8, 8)
		c.join(sixteen)
		time.Sleep(time.Minute)
		c.expectShares(5, 5, 6)
		c.leave(second)
		time.Sleep(10 * time.Second)
		c.expectShares(8, 8)
		c.kill(first)
		time.Sleep(testTimes.Duration + 3*testTimes.RetryPeriod)
		c.expectShares(16)
	})
}

func TestSharing_StatsCountLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, 1)
		defer c.end()
		expect := func(who *member, acquired, released, lost int64) {
			t.Helper()
			stats := who.sharing.options.Stats
			if a, r, l := stats.Acquired.Load(), stats.Released.Load(), stats.Lost.Load(); a != acquired || r != released || l != lost {
				t.Errorf("%d acquired, %d released, %d lost; want %d, %d, %d", a, r, l, acquired, released, lost)
			}
		}
		first := c.members[c.join(sixteen)]
		time.Sleep(5 * time.Second)
		expect(first, 16, 0, 0)
		name := c.join(sixteen)
		second := c.members[name]
		time.Sleep(time.Minute)
		expect(first, 16, 8, 0)
		expect(second, 8, 0, 0)
		c.server.edit(shardName("test", 0), func(lease *wire) { lease.Spec.HolderIdentity = "somebody" })
		time.Sleep(time.Minute)
		if lost := first.sharing.options.Stats.Lost.Load() + second.sharing.options.Stats.Lost.Load(); lost != 1 {
			t.Errorf("%d leases are lost, want 1", lost)
		}
		c.leave(name)
		time.Sleep(time.Minute)
		stats := second.sharing.options.Stats
		if held := stats.Acquired.Load() - stats.Released.Load() - stats.Lost.Load(); held != 0 {
			t.Errorf("after its end, %d leases are neither released nor lost", held)
		}
		c.expectShares(16)
	})
}

func TestSharing_NeverTwoInOneShard(t *testing.T) {
	seeds, steps := uint64(2), 100
	if testing.Short() {
		seeds, steps = 1, 20
	}
	for seed := range seeds {
		synctest.Test(t, func(t *testing.T) {
			c := newCrowd(t, seed)
			for range 4 {
				c.join(sixteen)
			}
			for range steps {
				time.Sleep(time.Duration(c.random.Int64N(int64(8 * time.Second))))
				names := slices.Sorted(maps.Keys(c.members))
				who := names[c.random.IntN(len(names))]
				m := c.members[who]
				switch c.random.IntN(9) {
				case 0:
					if len(names) > 2 {
						c.kill(who)
					}
				case 1:
					if len(names) > 2 {
						c.leave(who)
					}
				case 2, 3:
					if len(names) < 6 {
						c.join(sixteen)
					}
				case 4:
					m.line.set(func(l *line) { l.cut = !l.cut })
				case 5:
					m.line.set(func(l *line) { l.deaf = !l.deaf })
				case 6:
					m.line.set(func(l *line) { l.slow = time.Duration(c.random.Int64N(int64(6 * time.Second))) })
				default:
					m.line.set(func(l *line) { l.cut, l.deaf, l.slow = false, false, 0 })
				}
			}
			for _, m := range c.members {
				m.line.set(func(l *line) { l.cut, l.deaf, l.slow = false, false, 0 })
			}
			time.Sleep(3 * time.Minute)
			total, share := 0, sixteen.Shards/len(c.members)
			for who, n := range c.arena.counts() {
				if total += n; n < share || n > share+1 {
					t.Errorf("seed %d: %s has %d of 16 shards among %d replicas", seed, who, n, len(c.members))
				}
			}
			if total != sixteen.Shards {
				t.Errorf("seed %d: the replicas have %d of 16 shards", seed, total)
			}
			c.end()
		})
		if t.Failed() {
			return
		}
	}
}

func TestSharing_LostConnectionStopsBeforeOthersBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, 1)
		defer c.end()
		first := c.join(sixteen)
		c.join(sixteen)
		time.Sleep(time.Minute)
		c.expectShares(8, 8)
		c.members[first].line.set(func(l *line) { l.cut = true })
		time.Sleep(testTimes.RenewDeadline + time.Millisecond)
		if n := c.arena.counts()[first]; n != 0 {
			t.Errorf("the replica without a connection still acts on %d shards", n)
		}
		time.Sleep(testTimes.Duration)
		c.expectShares(0, 16)
		c.members[first].line.set(func(l *line) { l.cut = false })
		time.Sleep(time.Minute)
		c.expectShares(8, 8)
	})
}

func TestSharing_LeaseEditedByHandIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, 1)
		defer c.end()
		c.join(sixteen)
		time.Sleep(5 * time.Second)
		c.server.edit("test-3", func(w *wire) { w.Spec.HolderIdentity = "somebody" })
		time.Sleep(2 * testTimes.RetryPeriod)
		c.expectShares(15)
		time.Sleep(testTimes.Duration + 2*testTimes.RetryPeriod)
		c.expectShares(16)
		c.server.mu.Lock()
		delete(c.server.leases, "test-5")
		c.server.mu.Unlock()
		time.Sleep(2 * testTimes.Duration)
		c.expectShares(16)
		c.server.mu.Lock()
		defer c.server.mu.Unlock()
		if c.server.leases["test-5"].Spec.HolderIdentity == "" {
			t.Error("the lease that was deleted is not acquired again")
		}
	})
}

func TestSharing_OtherDivisionWaitsUntilTheLastIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, 1)
		defer c.end()
		eight := shards.Division{Shards: 8, Key: shards.ByUID}
		first, second := c.join(sixteen), c.join(sixteen)
		time.Sleep(time.Minute)
		c.join(eight)
		time.Sleep(time.Minute)
		c.expectShares(8, 8)
		c.leave(first)
		time.Sleep(time.Minute)
		c.expectShares(16)
		c.kill(second)
		time.Sleep(time.Minute)
		c.expectShares(8)
	})
}

func TestSharing_DivisionsThatStartTogetherDoNotBlockEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, 1)
		defer c.end()
		c.join(sixteen)
		c.join(shards.Division{Shards: 8, Key: shards.ByUID})
		time.Sleep(2 * time.Minute)
		c.expectShares(16) // the replica of the other division has never acted
	})
}

func TestSharing_AbandonedHandlersKeepTheLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, 1)
		defer c.end()
		first := c.join(sixteen)
		time.Sleep(5 * time.Second)
		c.members[first].cancel(ErrBusy)
		<-c.members[first].done
		if holder := c.server.leases["test-0"].Spec.HolderIdentity; holder != first {
			t.Errorf("the lease is held by %q", holder)
		}
	})
}

func TestTimes_Check(t *testing.T) {
	if err := testTimes.Check(); err != nil {
		t.Error(err)
	}
	for _, times := range []Times{
		{Duration: 1500 * time.Millisecond, RenewDeadline: time.Second, RetryPeriod: 100 * time.Millisecond},
		{Duration: 0, RenewDeadline: time.Second, RetryPeriod: 100 * time.Millisecond},
		{Duration: time.Second, RenewDeadline: time.Second, RetryPeriod: 100 * time.Millisecond},
		{Duration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 6 * time.Second},
		{Duration: 15 * time.Second, RenewDeadline: 10 * time.Second},
	} {
		if times.Check() == nil {
			t.Errorf("%+v is accepted", times)
		}
	}
}
