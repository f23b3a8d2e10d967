package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

// lag is the delay of watch events in these tests.
const lag = 150 * time.Millisecond

func TestConsistency_LateWatchDoesNotRepeatHandlers(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
	op := cluster.Run(func(r *kopf.Registry) {
		for _, id := range []string{"create_1", "create_2", "create_3"} {
			kopf.OnCreate(r, kexes, func(ctx context.Context, r *change) error {
				c.add(id)
				// Another client changes the object. The operator sees that version before its own.
				cluster.Object(kex.name(), "x").Patch(tree{"metadata": tree{"annotations": tree{"others": id}}})
				return nil
			}, kopf.ID(id))
		}
		kopf.OnUpdate(r, kexes, c.does("updated"), kopf.ID("updated"), kopf.Field("spec.field"))
		kopf.OnDelete(r, kexes, c.does("deleted"), kopf.ID("deleted"))
	}, transport(delayedWatch(lag)))
	x := cluster.Create(example("x"))
	x.Patch(tree{"metadata": tree{"annotations": tree{"others": "early"}}})
	waitHandled(x)
	x.Patch(field("one"))
	x.Patch(tree{"metadata": tree{"annotations": tree{"others": "late"}}})
	waitHandled(x)
	op.WaitLog("Updating is processed: 1 succeeded")
	x.Delete()
	x.WaitGone()
	op.WaitLog("really deleted")
	c.are(t, "create_1", "create_2", "create_3", "updated", "deleted")
}

func TestConsistency_UnseenWriteIsHandledNext(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
	cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, func(ctx context.Context, r *change) error {
			c.add("create_1")
			cluster.Object(kex.name(), "x").Patch(tree{"metadata": tree{"annotations": tree{"others": "early"}}})
			return nil
		}, kopf.ID("create_1"))
		kopf.OnCreate(r, kexes, c.does("create_2"), kopf.ID("create_2"))
	}, transport(heldBack(func(line string) bool { return strings.Contains(line, `\"purpose\":`) })))
	x := cluster.Create(example("x"))
	waitHandled(x)
	c.are(t, "create_1", "create_2")
}

func TestConsistency_FinalizerConflictDoesNotRepeatHandlers(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
	var contended atomic.Int32
	contend := func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(req *http.Request) (*http.Response, error) {
			if req.Method == http.MethodPatch && strings.Contains(req.Header.Get("Content-Type"), "json-patch") && contended.Add(1) == 2 {
				// Between the purge of the records and the removal of the finalizer.
				cluster.Object(kex.name(), "x").Patch(tree{"metadata": tree{"annotations": tree{"others": "meanwhile"}}})
			}
			return next.RoundTrip(req)
		})
	}
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnDelete(r, kexes, c.does("delete_1"), kopf.ID("delete_1"))
		kopf.OnDelete(r, kexes, c.does("delete_2"), kopf.ID("delete_2"))
	}, transport(contend))
	x := cluster.Create(example("x"))
	x.WaitFor("it has the finalizer", func(o *kopf.Object) bool { return o.Get("metadata.finalizers") != nil })
	x.Delete()
	x.WaitGone()
	op.WaitLog("Patching was postponed")
	op.WaitLog("really deleted")
	c.are(t, "delete_1", "delete_2")
}

func TestConsistency_FailedStatusPatchDoesNotRepeatHandlers(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
	var failures atomic.Int32
	failing := func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(req *http.Request) (*http.Response, error) {
			if req.Method == http.MethodPatch && strings.HasSuffix(req.URL.Path, "/status") && failures.Add(1) == 1 {
				return nil, errors.New("the network is down")
			}
			return next.RoundTrip(req)
		})
	}
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, func(_ context.Context, r *change) error {
			c.add("create_1")
			r.Result = "lost"
			return nil
		}, kopf.ID("create_1"))
		kopf.OnCreate(r, kexes, c.does("create_2"), kopf.ID("create_2"))
	}, transport(delayedWatch(lag)), transport(failing), settings(func(s *kopf.Settings) {
		s.Networking.ErrorBackoffs = slices.Values([]time.Duration(nil))
		s.Queueing.ErrorDelays = slices.Values([]time.Duration{time.Millisecond})
	}))
	cluster.Create(example("x")) // of which the operator hears later than the next attempt is made
	waitHandled(cluster.Object(kex.name(), "x"))
	op.WaitLog("Handling has failed: it is throttled for 1ms.")
	op.WaitLog("Throttling is over: back to normal.")
	c.are(t, "create_1", "create_2")
}

func TestConsistency_RefusedStatusPatchDoesNotRepeatHandlers(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
	proxy := cluster.FaultProxy(kopftest.Faults{Rules: []kopftest.FaultRule{
		{Match: kopftest.Requests(http.MethodPatch, "kopfexamples"), Fault: kopftest.Fault{Kind: kopftest.FaultStatus, Code: 500}, Times: 1},
		{Match: kopftest.Requests(http.MethodPatch, "kopfexamples/status"), Fault: kopftest.Fault{Kind: kopftest.FaultStatus, Code: 422, Field: "status"}, Times: 1},
	}})
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, func(_ context.Context, r *change) error {
			c.add("create_1")
			r.Result = "refused"
			return nil
		}, kopf.ID("create_1"))
		kopf.OnCreate(r, kexes, c.does("create_2"), kopf.ID("create_2"))
	}, proxy.Connect, settings(func(s *kopf.Settings) {
		s.Networking.ErrorBackoffs = slices.Values([]time.Duration(nil)) // so that the next cycle sends the records again
		s.Queueing.ErrorDelays = slices.Values([]time.Duration{time.Millisecond})
	}))
	waitHandled(cluster.Create(example("x")))
	op.WaitLog("API server rejected the handlers' patch; discarding it")
	c.are(t, "create_1", "create_2")
}

func TestConsistency_PanickingTransformationDoesNotRepeatHandlers(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, func(_ context.Context, r *change) error {
			c.add("create_1")
			kopf.Transform(r.Patch, func(*tree) { panic("no") })
			return nil
		}, kopf.ID("create_1"))
		kopf.OnCreate(r, kexes, c.does("create_2"), kopf.ID("create_2"))
	}, transport(delayedWatch(lag)), settings(func(s *kopf.Settings) {
		s.Queueing.ErrorDelays = slices.Values([]time.Duration{time.Millisecond})
	}))
	waitHandled(cluster.Create(example("x")))
	op.WaitLog("panic: no")
	c.are(t, "create_1", "create_2")
}

func TestConsistency_RecreatedObjectIsAnotherOne(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
	started, proceed := make(chan struct{}), make(chan struct{})
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, func(_ context.Context, r *change) error {
			field := kopf.GetOr(r.Body, "spec.field", "")
			c.add(field)
			if field == "value" {
				close(started)
				<-proceed
			}
			return nil
		}, kopf.ID("created"))
	})
	x := cluster.Create(example("x"))
	<-started
	x.Delete()
	second := example("x")
	second["spec"].(tree)["field"] = "second"
	cluster.Create(second)
	c.wait(cluster, "second", 1) // after the end of the first, whose event precedes it
	close(proceed)
	op.WaitLog("Patching was skipped: the object does not exist anymore.")
	if o := waitHandled(x); o.Get("spec.field") != "second" {
		t.Error("it is another object")
	}
}

func TestConsistency_RecreatedObjectNeverGetsThePatchOfTheFormerOne(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
	started, proceed, late := make(chan struct{}), make(chan struct{}), make(chan struct{})
	untold := heldBack(func(line string) bool {
		if strings.Contains(line, `"DELETED"`) {
			<-late
		}
		return false
	})
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, func(_ context.Context, r *change) error {
			field := kopf.GetOr(r.Body, "spec.field", "")
			c.add(field)
			if field == "value" {
				close(started)
				<-proceed
			}
			r.Result = field
			return nil
		}, kopf.ID("created"))
	}, transport(untold))
	tell := sync.OnceFunc(func() { close(late) })
	t.Cleanup(tell)
	x := cluster.Create(example("x"))
	<-started
	x.Delete()
	second := example("x")
	second["spec"].(tree)["field"] = "second"
	version := kopf.GetOr(cluster.Create(second).Get(), "metadata.resourceVersion", "")
	close(proceed)
	op.WaitLog("Patching was skipped: the object does not exist anymore.")
	if now := kopf.GetOr(x.Get(), "metadata.resourceVersion", ""); now != version {
		t.Errorf("it has version %s, and was created with %s", now, version)
	}
	tell()
	c.wait(cluster, "second", 1)
	x.WaitValue("status.created", "second") // it is written after the state is recorded
	c.are(t, "value", "second")
}

func TestConsistency_HandledObjectsSettleThoughTimersPatchThem(t *testing.T) {
	const objects = 100
	cluster, c := newCluster(t), &calls{}
	for i := range objects {
		cluster.Create(example(fmt.Sprint("x", i)))
	}
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, func(_ context.Context, r *change) error {
			c.add(r.Name)
			r.Result = "created"
			return nil
		}, kopf.ID("created"))
		// Its patches are versions between the creation and the operator's own patch.
		kopf.Timer(r, kexes, func(_ context.Context, r *tick) error {
			r.Patch.Set("status.ticks", r.Name)
			return nil
		}, kopf.ID("ticks"), kopf.Interval(time.Hour))
	}, transport(delayedWatch(lag)), settings(func(s *kopf.Settings) {
		s.Persistence.ConsistencyTimeout = time.Minute // the handlers of many objects are not repeated because a machine is busy
	}))
	op.WaitInspect("all objects are settled", func(s *inspect.Snapshot) bool {
		for _, o := range s.Objects {
			if o.State != inspect.StateSettled || o.Cause.Done.IsZero() {
				return false
			}
		}
		return s.Operator.Settled && len(s.Objects) == objects
	})
	for i := range objects {
		if name := fmt.Sprint("x", i); c.count(name) != 1 {
			t.Errorf("%s was handled %d times", name, c.count(name))
		}
	}
}
