package observe

import (
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

func TestInspector_UnsettledUntilListedObjectsAreProcessed(t *testing.T) {
	in := newInspected()
	settled := func(want bool, when string) {
		t.Helper()
		if got := in.hub.Snapshot().Operator.Settled; got != want {
			t.Errorf("settled %s: %v", when, got)
		}
	}
	a, b := podSubject("a", "1"), podSubject("b", "1")
	jobs := resources.Resource{Group: "batch", Version: "v1", Plural: "jobs"}
	ofPods, ofJobs := resources.Scope{Resource: pods.Key()}, resources.Scope{Resource: jobs.Key(), Namespace: "ns"}
	for _, stream := range []resources.Scope{ofPods, ofJobs} {
		Emit(&in.sink, StreamChanged{Stream: stream, Phase: StreamStarted})
	}
	for _, subject := range []*Subject{a, b} {
		Emit(&in.sink, EventReceived{ofPods, watch.Event{Type: watch.Listed, Object: subject.Object}})
	}
	Emit(&in.sink, EventReceived{ofJobs, watch.Event{Type: watch.Listed, Object: podObject("c", "1")}})
	Emit(&in.sink, StreamChanged{Stream: ofPods, Phase: StreamListed})
	Emit(&in.sink, Ended{Subject: a})
	settled(false, "while a resource is listed")
	Emit(&in.sink, StreamChanged{Stream: ofJobs, Phase: StreamListed})
	settled(false, "before all were processed")
	Emit(&in.sink, StreamChanged{Stream: ofJobs, Phase: StreamStopped})
	settled(false, "before all of the other resource were processed")
	Emit(&in.sink, Ended{Subject: b, Err: handlers.ErrTimeout, RetryIn: time.Second})
	settled(false, "after a failure")
	Emit(&in.sink, Ended{Subject: b})
	settled(true, "when all were processed")
	Emit(&in.sink, EventReceived{ofPods, watch.Event{Type: watch.Modified, Object: a.Object}})
	settled(true, "after an event")
}

func TestInspector_UnsettledUntilConditionsAreWritten(t *testing.T) {
	in := newInspected()
	a := podSubject("a", "1")
	for _, end := range []Event{Ended{Subject: a}, Ended{Subject: a, Deleted: true}, ObjectForgotten{a.Identity}} {
		Emit(&in.sink, Ended{Subject: a, Unwritten: true})
		if in.hub.Snapshot().Operator.Settled {
			t.Errorf("settled before %#v", end)
		}
		Emit(&in.sink, end)
		if !in.hub.Snapshot().Operator.Settled {
			t.Errorf("unsettled after %#v", end)
		}
	}
}
