package peering_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
	"github.com/kopf-dev/kopf/sdk/webhook"
)

// successor starts an operator with webhooks of its own, and waits until the API server has them.
func (x *team) successor(name string, priority int) *kopftest.Operator {
	x.cluster.T().Helper()
	managed := name + "." + x.cluster.Namespace + ".kopf.dev"
	op := x.cluster.Launch(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, func(_ context.Context, c *kopf.Change[kopf.Object]) error {
			x.mu.Lock()
			defer x.mu.Unlock()
			x.handled[c.Name] = append(x.handled[c.Name], name)
			return nil
		}, kopf.ID("handle"))
		kopf.OnValidate(r, kexes, func(_ context.Context, a *kopf.Admission[kopf.Object]) error {
			if a.Object.Get("spec.field") == "forbidden" {
				return kopf.AdmissionError{Message: "forbidden by " + name}
			}
			return nil
		}, kopf.ID("check"))
	}, func(o *kopf.Operator) {
		o.Identity = name
		o.Settings.Peering.Priority, o.Settings.Peering.Lifetime = priority, lifetime
		o.Settings.Admission.Server = &webhook.Server{}
		o.Settings.Admission.Managed = managed
	})
	x.members[name] = op
	op.WaitReady()
	config := x.cluster.Object("validatingwebhookconfigurations", managed)
	x.cluster.WaitUntil("the webhooks of "+name+" are in the cluster", func() bool {
		if !config.Exists() {
			return false
		}
		webhooks, _ := config.Get().Get("webhooks").([]any)
		return len(webhooks) == 1
	})
	return op
}

// requester creates forbidden and other objects all the time.
type requester struct {
	cluster  *kopftest.Cluster
	stop     chan struct{}
	ended    sync.WaitGroup
	mu       sync.Mutex
	created  []string
	admitted []string // forbidden objects
	failures []error
	rounds   int
}

func (r *requester) run() {
	r.ended.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-r.stop:
				return
			default:
			}
			name := fmt.Sprintf("kex-%d", i)
			good, bad := example(name), example("bad-"+name)
			bad["spec"] = tree{"field": "forbidden"}
			allowed, denied := r.cluster.TryCreate(good), r.cluster.TryCreate(bad)
			r.mu.Lock()
			r.rounds++
			if allowed.Err != nil {
				r.failures = append(r.failures, allowed.Err)
			} else {
				r.created = append(r.created, name)
			}
			if denied.Err == nil {
				r.admitted = append(r.admitted, "bad-"+name)
			} else if !strings.Contains(denied.Err.Error(), "forbidden by") {
				r.failures = append(r.failures, denied.Err)
			}
			r.mu.Unlock()
		}
	})
}

// more waits until so many more rounds have begun and ended.
func (r *requester) more(rounds int) {
	count := func() int { r.mu.Lock(); defer r.mu.Unlock(); return r.rounds }
	from := count()
	r.cluster.WaitUntil("more requests", func() bool { return count() > from+rounds })
}

// TestPeering_HandOverHasNoGap is the recipe of the page about Kopf for Python, with two operators in Go.
func TestPeering_HandOverHasNoGap(t *testing.T) {
	t.Parallel()
	cluster := newCluster(t)
	peeringObject(cluster, "default")
	x := newTeam(cluster)
	old := x.successor("old", 0)
	cluster.WaitUntil("the API server knows its webhook", func() bool {
		probe := example("probe")
		probe["spec"] = tree{"field": "forbidden"}
		return cluster.TryCreate(probe, kopftest.DryRun()).Err != nil
	})
	requests := &requester{cluster: cluster, stop: make(chan struct{})}
	requests.run()
	requests.more(3)

	x.successor("new", 100)
	x.states(map[string]inspect.OperatorState{"new": running, "old": paused})
	cluster.WaitUntil("the new operator acts while the old one is paused", func() bool {
		x.mu.Lock()
		defer x.mu.Unlock()
		for _, by := range x.handled {
			if slices.Contains(by, "new") {
				return true
			}
		}
		return false
	})
	requests.more(10) // both have webhooks, and API servers learn of new ones within moments
	old.Stop()
	requests.more(10)
	close(requests.stop)
	requests.ended.Wait()

	if len(requests.admitted) > 0 {
		t.Errorf("%d forbidden objects were admitted: %v", len(requests.admitted), requests.admitted)
	}
	for _, err := range requests.failures {
		t.Error(err)
	}
	cluster.WaitUntil("all objects are handled", func() bool {
		x.mu.Lock()
		defer x.mu.Unlock()
		return len(x.handled) == len(requests.created)
	})
	x.members["new"].Stop()
	t.Logf("%d objects were created, and as many refused", len(requests.created))
}
