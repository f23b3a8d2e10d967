package engine

import (
	"testing"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/index"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

func TestNothingHasSettledWhileListedObjectsAreNotLookedAt(t *testing.T) {
	hub := inspect.NewHub(inspect.HubOptions{})
	r := newReporter(hub, &handlers.Registry{}, &index.Indices{})
	settled := func(want bool, when string) {
		t.Helper()
		if got := hub.Snapshot().Operator.Settled; got != want {
			t.Errorf("settled %s: %v", when, got)
		}
	}
	pods, jobs := dimension{resource: "pods.v1"}, dimension{resource: "jobs.v1.batch", namespace: "ns"}
	a, b, c := queue.Key{Resource: "pods.v1", Object: "a"}, queue.Key{Resource: "pods.v1", Object: "b"}, queue.Key{Resource: "jobs.v1.batch", Object: "c"}
	for _, d := range []dimension{pods, jobs} {
		r.listing(d.String(), d.resource)
	}
	r.found(pods, a, watch.Event{Type: watch.Listed})
	r.found(pods, b, watch.Event{Type: watch.Listed})
	r.found(jobs, c, watch.Event{Type: watch.Listed})
	r.listed(pods.String())
	r.looked(a)
	settled(false, "while a resource is listed")
	r.listed(jobs.String())
	settled(false, "before all were looked at")
	r.ended(jobs)
	settled(false, "before all of the other resource were looked at")
	r.looked(b)
	settled(true, "when all were looked at")
	r.found(pods, a, watch.Event{Type: watch.Modified})
	r.looked(a)
	settled(true, "after an event")
}
