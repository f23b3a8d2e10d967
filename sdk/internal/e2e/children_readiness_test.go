package e2e

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

// ledElsewhere is a rule of readiness for ConfigMaps: another client names the leader.
func ledElsewhere(child *kopf.Object) error {
	switch leader := kopf.GetOr(child, "data.leader", ""); leader {
	case "":
		return errors.New("no leader")
	case "nobody":
		return kopf.Permanentf("no candidate is left")
	case "panic":
		panic("a mistake in the rule")
	}
	return nil
}

// states has the states and messages of a child in the passes of an operator.
type states struct {
	mu   sync.Mutex
	seen []string
}

func (s *states) add(state string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, state)
}

func (s *states) saw(since int, state string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.seen[since:], func(seen string) bool { return strings.HasPrefix(seen, state) })
}

func (s *states) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.seen)
}

// runLed runs an operator that waits until its ConfigMap is ready by ledElsewhere.
func runLed(t *testing.T, within time.Duration) (*kopftest.Cluster, *kopftest.Object, *kopftest.Operator, *states) {
	t.Helper()
	cluster := newCluster(t)
	own, seen := ownResource(cluster), &states{}
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnReconcile(r, own.selector(), func(ctx context.Context, p *kopf.Pass[kopf.Object]) error {
			config := &unstructured.Unstructured{Object: tree{"apiVersion": "v1", "kind": "ConfigMap", "data": tree{"a": "b"}}}
			if err := p.Apply(ctx, config); err != nil {
				return err
			}
			c := p.Child(config)
			seen.add(string(c.State) + ": " + c.Message)
			return p.WaitReady(config)
		}, kopf.Own{Resource: kopf.Resource("v1", "configmaps"), ReadyIf: ledElsewhere, ReadyWithin: within})
	})
	cluster.Create(own.of(tree{"metadata": tree{"name": "main"}}))
	return cluster, cluster.Object("configmaps", "main"), op, seen
}

func TestChildren_ReadyIfDecides(t *testing.T) {
	cluster, config, _, seen := runLed(t, 0)
	for _, step := range []struct{ leader, want string }{
		{"", "progressing: no leader"},
		{"a", "ready: it is ready"},
		{"nobody", "failed: no candidate is left"},
		{"panic", "unknown: ReadyIf: "},
		{"b", "ready: it is ready"},
	} {
		since := 0
		if step.leader != "" {
			since = seen.count()
			config.Set("data.leader", step.leader)
		}
		cluster.WaitUntil("a pass sees "+step.want, func() bool { return seen.saw(since, step.want) })
	}
}

func TestChildren_ReadyWithinFailsAndWakes(t *testing.T) {
	cluster, config, op, seen := runLed(t, 3*time.Second) // in which a pass sees that the child is progressing
	const late = "failed: not ready within 3s: no leader"
	cluster.WaitUntil("a pass sees the new child", func() bool { return seen.saw(0, "progressing: no leader") })
	cluster.WaitUntil("a pass sees that the child is late", func() bool { return seen.saw(0, late) })

	failed := func(state *inspect.Snapshot) bool {
		return len(state.Objects) == 1 && state.Objects[0].Children != nil && state.Objects[0].Children.Failed == 1
	}
	list, err := op.Inspector().Children(t.Context(), op.WaitInspect("the child counts as failed", failed).Objects[0].Ref)
	if err != nil || list.Children[0].State != inspect.ChildFailed || "failed: "+list.Children[0].Message != late {
		t.Errorf("the inspector shows %+v, %v", list, err)
	}
	config.Set("data.leader", "a")
	cluster.WaitUntil("a pass sees that the child is ready", func() bool { return seen.saw(0, "ready: ") })
	since := seen.count()
	config.Remove("data.leader")
	cluster.WaitUntil("a pass sees that the child has lost its leader", func() bool { return seen.saw(since, "progressing: no leader") })
	cluster.WaitUntil("a pass sees that the child is late again", func() bool { return seen.saw(since, late) })

	op.Stop()
	since = seen.count()
	op.Start()
	cluster.WaitUntil("a restart gives the child its time", func() bool { return seen.saw(since, "progressing: no leader") })
	cluster.WaitUntil("a pass after the restart sees that the child is late", func() bool { return seen.saw(since, late) })
}
