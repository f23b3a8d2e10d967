package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

// keyless is another system that does not know keys: each call makes another thing, which has the key only as a label.
type keyless struct {
	mu     sync.Mutex
	labels []string // one for each thing; the index is the id
	asked  int
}

func (k *keyless) find(_ context.Context, key kopf.StepKey) (string, bool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.asked++
	n := slices.Index(k.labels, string(key))
	return fmt.Sprint("thing ", n), n >= 0, nil
}

func (k *keyless) make(_ context.Context, key kopf.StepKey) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.labels = append(k.labels, string(key))
	return fmt.Sprint("thing ", len(k.labels)-1), nil
}

func TestFindOrStep_KilledAtAnyWriteMakesOneThing(t *testing.T) {
	run := func(t *testing.T, name string, write int, after bool) (k *keyless, writes int, end string) {
		cluster, k := newCluster(t), &keyless{}
		faults := killAt(write, after)
		faults.Rules[0].Match = writesOf(plain)
		proxy := cluster.FaultProxy(faults)
		stop := runReplaced(cluster, func(r *kopf.Registry) {
			kopf.OnCreate(r, plains, func(ctx context.Context, c *change) (err error) {
				c.Result, err = kopf.FindOrStep(ctx, c, "make", k.find, k.make)
				return err
			}, kopf.ID("create"))
		}, proxy)
		x := cluster.Create(plain.of(example(name)))
		end = essential(waitHandled(x))
		stop()
		return k, len(proxy.Injected()), end
	}
	undisturbed, writes, end := run(t, "undisturbed", 0, false)
	if writes != 2 || undisturbed.asked != 1 {
		t.Fatalf("%d writes, want 2; asked %d times, want once", writes, undisturbed.asked)
	}
	for n := 1; n <= writes; n++ {
		for _, when := range []string{"before", "after"} {
			t.Run(fmt.Sprintf("%s write %d", when, n), func(t *testing.T) {
				k, _, got := run(t, fmt.Sprintf("killed-%s-%d", when, n), n, when == "after")
				if got != end || len(k.labels) != 1 {
					t.Errorf("%d things; the object is\n%s\nundisturbed:\n%s", len(k.labels), got, end)
				}
				want := 1
				if n == 1 && when == "before" {
					want = 2 // the record is missing
				}
				if k.asked != want {
					t.Errorf("asked %d times, want %d", k.asked, want)
				}
			})
		}
	}
}

func TestFindOrStep_ErrorOfTheQuestionPreventsTheCall(t *testing.T) {
	cluster, k := newCluster(t), &keyless{}
	errAway := errors.New("the other system is away")
	var attempts calls
	cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, func(ctx context.Context, c *change) error {
			_, err := kopf.FindOrStep(ctx, c, "make", func(ctx context.Context, key kopf.StepKey) (string, bool, error) {
				if c.Retry == 0 {
					return "", false, errAway
				}
				return k.find(ctx, key)
			}, k.make)
			if errors.Is(err, errAway) {
				attempts.add(fmt.Sprint(len(k.labels), " things"))
				return kopf.Temporaryf(0, "find: %w", err)
			}
			return err
		}, kopf.ID("create"))
	})
	waitHandled(cluster.Create(example("x")))
	if attempts.count("0 things") != 1 || len(k.labels) != 1 {
		t.Errorf("after the failed question: %v; at the end: %d things", attempts.all(), len(k.labels))
	}
}
