package e2e

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

// stepper keeps a part for each step of its parents: a step waits until the part of the step before is ready. While it is erratic, each
// pass ends too early, for one of several reasons.
type stepper struct {
	part    custom
	steps   int
	erratic atomic.Bool
	ended   atomic.Int32 // passes that ended too early

	mu     sync.Mutex
	random *rand.Rand
}

// roll returns a random number below n.
func (s *stepper) roll(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.random.IntN(n)
}

func (s *stepper) reconcile(ctx context.Context, p *kopf.Pass[kopf.Object]) error {
	erratic := s.erratic.Load()
	for i := range s.steps {
		part := s.child(fmt.Sprint(p.Name, "-", i), kopf.GetOr(p.Object, "spec.value", ""))
		err := p.Apply(ctx, part)
		if err == nil && erratic {
			err = s.trouble()
		}
		if err == nil {
			err = p.WaitReady(part)
		}
		if err != nil {
			if erratic {
				s.ended.Add(1)
			}
			return err
		}
	}
	switch {
	case erratic:
		s.ended.Add(1)
		return kopf.Waitf(0, "the last step is not done")
	case kopf.GetOr(p.Object, "spec.extra", false):
		return p.Apply(ctx, s.child(p.Name+"-extra", ""))
	}
	return nil
}

func (s *stepper) child(name, value string) metav1.Object {
	return &unstructured.Unstructured{Object: s.part.of(tree{"metadata": tree{"name": name}, "spec": tree{"value": value}})}
}

// trouble returns an error in some of the steps.
func (s *stepper) trouble() error {
	switch s.roll(12) {
	case 0:
		return kopf.Temporaryf(time.Millisecond, "a moment")
	case 1:
		return kopf.Waitf(time.Millisecond, "a moment")
	case 2:
		return kopf.Permanentf("never")
	case 3:
		return errors.New("oh")
	}
	return nil
}

// readiness returns the status of a part.
func readiness(ready bool) tree {
	status := map[bool]string{true: "True", false: "False"}[ready]
	return tree{"status": tree{"conditions": []any{tree{"type": "Ready", "status": status}}}}
}

// The parts change their readiness, and the operator is restarted, while each pass ends too early. In the beginning, all parts exist, and
// one more of each parent that is no longer wanted.
func TestChildren_RandomIncompletePassesDeleteNothing(t *testing.T) {
	k := &keeper{t: t, Cluster: newCluster(t)}
	k.own = ownResource(k.Cluster)
	seed := kopftest.Seed(t)
	s := &stepper{steps: 4, random: rand.New(rand.NewPCG(seed, 0))} //nolint:gosec // it has to be replayable
	s.part = custom{group: k.own.group, plural: "parts", kind: "Part", status: true}
	s.part.define(k.Cluster)
	parents, passes := 20, int32(1000)
	if testing.Short() {
		passes = 200
	}
	deleted := followDeletions(t, k.Cluster, s.part)
	k.reconcile([]kopf.Own{{Resource: s.part.selector()}}, s.reconcile, settings(hasty))
	var all []*kopftest.Object
	var parts [][]*kopftest.Object
	for i := range parents {
		name := fmt.Sprint("p", i)
		all = append(all, k.Create(k.own.of(tree{"metadata": tree{"name": name}, "spec": tree{"extra": true}})))
		parts = append(parts, nil)
		for step := range s.steps {
			parts[i] = append(parts[i], k.Object(s.part.name(), fmt.Sprint(name, "-", step)))
		}
	}
	for step := range s.steps {
		for i := range parents {
			parts[i][step].WaitValue("metadata.name", parts[i][step].Name)
			parts[i][step].Patch(readiness(true))
		}
	}
	for _, p := range all {
		k.WaitHandled(p)
		k.Object(s.part.name(), p.Name+"-extra").WaitValue("metadata.name", p.Name+"-extra")
	}

	s.erratic.Store(true)
	for _, p := range all {
		p.Remove("spec.extra")
	}
	for restarts := int32(1); s.ended.Load() < passes; {
		parts[s.roll(parents)][s.roll(s.steps)].Patch(readiness(s.roll(3) > 0))
		if s.roll(20) == 0 {
			all[s.roll(parents)].Set("spec.value", fmt.Sprint(s.roll(100)))
		}
		if s.ended.Load() > restarts*passes/5 {
			restarts++
			if s.roll(2) == 0 {
				k.Kill()
				k.Start()
			} else {
				k.Restart()
			}
		}
	}
	k.Restart() // each parent has a pass that is incomplete
	if gone := deleted(); len(gone) > 0 {
		t.Errorf("incomplete passes have deleted %q", gone)
	}

	s.erratic.Store(false)
	k.Restart()
	for i := range all {
		for _, part := range parts[i] {
			part.WaitValue("metadata.name", part.Name)
			part.Patch(readiness(true))
		}
		all[i].Set("spec.value", "end") // the brake does not stop the pruning of parents that have changed
	}
	var want []string
	for i, p := range all {
		k.Object(s.part.name(), p.Name+"-extra").WaitGone()
		for _, part := range parts[i] {
			part.WaitValue("spec.value", "end")
		}
		k.WaitHandled(p)
		want = append(want, p.Name+"-extra")
	}
	slices.Sort(want)
	k.WaitUntil("the stream has shown the deletions", func() bool { return len(deleted()) >= len(want) })
	if gone := deleted(); !slices.Equal(gone, want) {
		t.Errorf("deleted: %q", gone)
	}
	k.parent = all[0]
	k.checkIdle(k.Object(s.part.name(), "p1-0"))
	t.Logf("%d passes ended too early", s.ended.Load())
}

// followDeletions returns a function that returns the sorted names of the objects of a resource that were deleted so far.
func followDeletions(t *testing.T, cluster *kopftest.Cluster, of custom) func() []string {
	t.Helper()
	var mu sync.Mutex
	var names []string
	res := &resources.Resource{Group: of.group, Version: "v1", Plural: of.plural, Kind: of.kind, Namespaced: true}
	followEvents(t, cluster, res, func(deleted bool, o tree) {
		if deleted {
			mu.Lock()
			defer mu.Unlock()
			names = append(names, fmt.Sprint(o["metadata"].(tree)["name"]))
		}
	})
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Sorted(slices.Values(names))
	}
}
