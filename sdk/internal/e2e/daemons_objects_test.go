package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

func TestDaemon_PatchesAndResultsAreStored(t *testing.T) {
	cluster := newCluster(t)
	proceed := make(chan struct{})
	cluster.Run(func(reg *kopf.Registry) {
		kopf.Daemon(reg, kexes, func(ctx context.Context, d *run) error {
			if d.Retry == 0 {
				d.Patch.Set("status.failed", true)
				return kopf.Temporaryf(time.Millisecond, "first")
			}
			for range 3 {
				// Each round depends on the status that the previous one has written.
				kopf.Edit(d.Patch, func(o *struct {
					Status struct {
						Rounds int `json:"rounds"`
					} `json:"status"`
				}) {
					o.Status.Rounds++
				})
				if err := d.Apply(ctx); err != nil {
					return err
				}
			}
			if n := kopf.GetOr(d.Object(), "status.rounds", 0); n != 3 {
				return kopf.Permanentf("want %d rounds", n)
			}
			proceed <- struct{}{}
			for d.Object().Get("spec.field") == "value" {
				<-d.Changed()
			}
			d.Result = map[string]string{"message": "it is " + d.Object().Get("spec.field").(string)}
			return nil
		}, kopf.ID("d"))
		kopf.Timer(reg, kexes, func(_ context.Context, c *tick) error {
			c.Patch.Set("status.ticked", true)
			c.Result = map[string]any{"retry": c.Retry, "field": c.Object.Get("spec.field")}
			return nil
		}, kopf.ID("t"), kopf.Interval(5*time.Millisecond))
	})
	x := cluster.Create(example("x"))
	<-proceed
	x.Patch(field("other"))
	x.WaitFor("it has all results", func(o *kopf.Object) bool {
		return o.Get("status.d.message") == "it is other" && o.Get("status.t.field") == "other" &&
			o.Get("status.failed") == true && o.Get("status.ticked") == true && o.Get("status.rounds") == int64(3)
	})
}

func TestDaemon_ResultIsStoredAfterOutage(t *testing.T) {
	cluster := newCluster(t)
	var down atomic.Bool
	op := cluster.Run(func(reg *kopf.Registry) {
		kopf.Daemon(reg, kexes, func(_ context.Context, d *run) error {
			down.Store(true)
			d.Result = "done"
			return nil
		}, kopf.ID("d"))
	}, transport(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(req *http.Request) (*http.Response, error) {
			if down.Load() && isWrite(req) {
				return nil, errors.New("the network is down")
			}
			return next.RoundTrip(req)
		})
	}), settings(func(s *kopf.Settings) { s.Networking.ErrorBackoffs = func(func(time.Duration) bool) {} }))
	x := cluster.Create(example("x"))
	op.WaitLog("Cannot send the patch of Daemon 'd'; retrying in 1s")
	down.Store(false)
	x.WaitFor("it has the result", func(o *kopf.Object) bool { return o.Get("status.d") == "done" })
}

// sized is the type of an object with a size.
type sized struct {
	Spec struct {
		Size int `json:"size"`
	} `json:"spec"`
}

func TestDaemon_SeesNewestObject(t *testing.T) {
	cluster := newCluster(t)
	seen := make(chan string)
	op := cluster.Run(func(reg *kopf.Registry) {
		for _, id := range []string{"a", "b"} {
			kopf.Daemon(reg, kexes, func(_ context.Context, d *kopf.DaemonRun[sized]) error {
				for {
					changed := d.Changed()
					seen <- fmt.Sprintf("%s %d %s %s", id, d.Object().Spec.Size, d.Labels()["l"], d.Annotations()["a"])
					select {
					case <-changed:
					case <-d.Stopping():
						return nil
					}
				}
			}, kopf.ID(id))
		}
	})
	both := func(what string) {
		t.Helper()
		open := map[string]bool{"a " + what: true, "b " + what: true}
		for len(open) > 0 {
			select {
			case s := <-seen:
				delete(open, s)
			case <-t.Context().Done():
				t.Fatalf("no handler saw %v:\n%v", open, op.Log())
			}
		}
	}
	marked := func(label, annotation string, size any) tree {
		return tree{"metadata": tree{"labels": tree{"l": label}, "annotations": tree{"a": annotation}}, "spec": tree{"size": size}}
	}
	x := marked("l1", "a1", 1)
	x["metadata"].(tree)["name"] = "x"
	cluster.Create(kex.of(x))
	both("1 l1 a1")
	cluster.Object(kex.name(), "x").Patch(marked("l2", "a2", 2))
	both("2 l2 a2")
	// A version that does not decode is skipped, but its metadata are seen.
	cluster.Object(kex.name(), "x").Patch(marked("l3", "a3", "huge"))
	both("2 l3 a3")
	cluster.Object(kex.name(), "x").Patch(marked("l4", "a4", 4))
	both("4 l4 a4")
	cluster.Object(kex.name(), "x").Delete()
	go func() {
		for range seen {
		}
	}()
	cluster.Object(kex.name(), "x").WaitGone()
	op.Stop()
	close(seen)
	if n := strings.Count(op.Log(), "The object does not fit into the handler's type"); n != 2 {
		t.Errorf("%d warnings for two daemons:\n%v", n, op.Log())
	}
}

func TestDaemon_NotCalledForObjectThatDoesNotDecode(t *testing.T) {
	cluster := newCluster(t)
	op := cluster.Run(func(reg *kopf.Registry) {
		kopf.Daemon(reg, kexes, func(context.Context, *kopf.DaemonRun[sized]) error {
			t.Error("the daemon is called")
			return nil
		}, kopf.ID("d"))
		kopf.Timer(reg, kexes, func(context.Context, *kopf.TimerTick[sized]) error {
			t.Error("the timer is called")
			return nil
		}, kopf.ID("t"), kopf.Interval(time.Millisecond))
	})
	cluster.Create(kex.of(tree{"metadata": tree{"name": "x"}, "spec": tree{"size": "huge"}}))
	for _, who := range []string{"Daemon 'd'", "Timer 't'"} {
		op.WaitLog(who + " failed permanently: spec.size is a string, which does not fit into int")
		op.WaitLog(who + " has exited on its own")
	}
}

func TestDaemon_PanicWhileDecodingIsError(t *testing.T) {
	cluster := newCluster(t)
	op := cluster.Run(func(reg *kopf.Registry) {
		kopf.Daemon(reg, kexes, func(_ context.Context, d *kopf.DaemonRun[explosive]) error {
			for d.Object().Field != "bad" && d.Sleep(time.Millisecond) {
				continue
			}
			return nil
		}, kopf.ID("d"), kopf.Attempts(1))
	})
	cluster.Create(kex.of(tree{"metadata": tree{"name": "x"}, "spec": tree{"field": "bad"}}))
	op.WaitLog("Daemon 'd' failed with an exception and will stop now (it would exceed 1 retries on the next attempt): panic: it explodes")
}

// explosive is a type that some objects make panic.
type explosive struct{ Field string }

func (e *explosive) UnmarshalJSON(raw []byte) error {
	if strings.Contains(string(raw), `"bad"`) {
		panic("it explodes")
	}
	return nil
}
