package e2e

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/testcluster"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

// rollouts counts the passes of parents whose children change.
type rollouts struct {
	mu     sync.Mutex
	passes map[string][]time.Time // times of the passes by the parent's name
	seen   map[string]int64       // number in the child's status in the last pass
}

func (r *rollouts) note(name string, count int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.passes[name], r.seen[name] = append(r.passes[name], time.Now()), count
}

// reached returns the number of parents whose last pass has seen a number.
func (r *rollouts) reached(count int64) (parents int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, seen := range r.seen {
		if seen == count {
			parents++
		}
	}
	return parents
}

// copied returns the times of the passes so far. Late passes may follow.
func (r *rollouts) copied() map[string][]time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.passes)
}

func TestChildren_RolloutStormMakesFewPasses(t *testing.T) {
	const parents, changes, workers = 200, 40, 8
	cluster := newCluster(t)
	own := ownResource(cluster)
	all := &rollouts{passes: map[string][]time.Time{}, seen: map[string]int64{}}
	cluster.Run(func(r *kopf.Registry) {
		kopf.OnReconcile(r, own.selector(), func(ctx context.Context, p *kopf.Pass[kopf.Object]) error {
			child := &unstructured.Unstructured{Object: kex.of(tree{"spec": tree{"field": "value"}})}
			if err := p.Apply(ctx, child); err != nil {
				return err
			}
			all.note(p.Name, kopf.GetOr(p.Child(child).Observed, "status.count", int64(-1)))
			return nil
		}, kopf.Own{Resource: kexes, Observe: []kopf.Path{"status.count"}, ReadyIf: func(*kopf.Object) error { return nil }})
	})
	client := testcluster.Client(t, kube.ClientOptions{})
	resource := func(c custom) *resources.Resource {
		return &resources.Resource{Group: c.group, Version: "v1", Plural: c.plural, Kind: c.kind, Namespaced: true}
	}
	forAll := func(do func(name string) error) {
		var group sync.WaitGroup
		for w := range workers {
			group.Go(func() {
				for i := w; i < parents; i += workers {
					if err := do(fmt.Sprint("p", i)); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		group.Wait()
	}
	count := func(n int) func(string) error {
		return func(name string) error {
			_, err := client.Patch(t.Context(), resource(kex), cluster.Namespace, name, "status", kube.MergePatch, fmt.Appendf(nil, `{"status":{"count":%d}}`, n))
			return err
		}
	}
	forAll(func(name string) error {
		_, err := client.Post(t.Context(), resource(own), cluster.Namespace, []byte(asJSON(own.of(tree{"metadata": tree{"name": name}}))))
		return err
	})
	cluster.WaitUntil("all children exist", func() bool { return all.reached(-1) == parents })
	forAll(count(0)) // the first number is no progress
	cluster.WaitUntil("all passes have seen the first status", func() bool { return all.reached(0) == parents })

	began := time.Now()
	for n := range changes {
		forAll(count(n + 1))
	}
	took := time.Since(began)
	cluster.WaitUntil("all passes have seen the last status", func() bool { return all.reached(changes) == parents })
	most := 0
	for name, passes := range all.copied() {
		during := 0
		for _, at := range passes {
			if at.After(began) {
				during++
			}
		}
		most = max(most, during)
		// The 10 s of the goal permit 6 passes. The formula also holds on a slow machine.
		if limit := 2 + int(passes[len(passes)-1].Sub(began)/(3*time.Second)) + 1; during > limit {
			t.Errorf("%d changes of the child of %s within %s have made %d passes, and %d are permitted", changes, name, took, during, limit)
		}
	}
	t.Logf("%d changes within %s have made at most %d passes", changes, took, most)
}
