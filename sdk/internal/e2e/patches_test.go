package e2e

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

func TestTransform_DaemonRetriesOnConflict(t *testing.T) {
	cluster := newCluster(t)
	var conflicts atomic.Int32
	contend := func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(req *http.Request) (*http.Response, error) {
			// Each transformation is made for a version that is no longer the newest.
			if strings.Contains(req.Header.Get("Content-Type"), "json-patch") && conflicts.Add(1)%2 == 1 {
				cluster.Object(kex.name(), "x").Patch(tree{"spec": tree{"field": fmt.Sprint("conflict ", conflicts.Load())}})
			}
			return next.RoundTrip(req)
		})
	}
	adds := func(p *kopf.Patch, item string) {
		kopf.Transform(p, func(o *listed) { o.Spec.Items = append(o.Spec.Items, item) })
	}
	op := cluster.Run(func(reg *kopf.Registry) {
		kopf.Daemon(reg, kexes, func(ctx context.Context, d *kopf.DaemonRun[listed]) error {
			adds(d.Patch, "applied")
			if err := d.Apply(ctx); err != nil {
				return err
			}
			if items := fmt.Sprint(d.Object().Spec.Items); items != "[item1 item2 applied]" {
				t.Errorf("after it was applied, there is %s", items)
			}
			adds(d.Patch, "last")
			return nil
		}, kopf.ID("d"))
		kopf.Timer(reg, kexes, func(_ context.Context, c *kopf.TimerTick[listed]) error {
			if len(c.Object.Spec.Items) != 4 {
				return kopf.Temporaryf(time.Millisecond, "the daemon is not done yet")
			}
			adds(c.Patch, "ticked")
			return nil
		}, kopf.ID("t"), kopf.Interval(time.Hour))
	}, connect(restricted(cluster)), transport(contend))
	x := cluster.Create(example("x"))
	x.WaitFor("it has all items", func(o *kopf.Object) bool {
		return fmt.Sprint(o.Get("spec.items")) == "[item1 item2 applied last ticked]"
	})
	for _, e := range op.LogEntries() {
		if strings.Contains(e.String(), "Cannot send the patch") {
			t.Error(e)
		}
	}
}

func TestTransform_RefusedOneIsLoggedAndDropped(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnDelete(r, kexes, func(_ context.Context, r *change) error {
			c.add("deleted")
			kopf.Transform(r.Patch, func(o *labelled) { o.Metadata.Labels = map[string]string{"bad": "no such label!"} })
			return nil
		}, kopf.ID("deleted"))
	}, settings(func(s *kopf.Settings) {
		s.Queueing.ErrorDelays = slices.Values([]time.Duration{50 * time.Millisecond})
	}))
	x := cluster.Create(example("x"))
	waitHandled(x)
	x.Delete()
	x.WaitGone()
	c.are(t, "deleted")
	told := false
	for _, e := range op.LogEntries() {
		told = told || strings.Contains(e.String(), "transform the object: ") && strings.Contains(e.String(), "no such label!")
	}
	if !told {
		t.Errorf("no line says what was rejected:\n%v", op.Log())
	}
}

type labelled struct {
	Metadata struct {
		Labels map[string]string `json:"labels"`
	} `json:"metadata"`
}

func TestPatch_RefusedOneDoesNotRepeatHandler(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, func(_ context.Context, r *change) error {
			c.add("create_1")
			r.Patch.Set("metadata.labels.bad", "no such label!")
			return nil
		}, kopf.ID("create_1"))
		kopf.OnCreate(r, kexes, c.does("create_2"), kopf.ID("create_2"))
	}, settings(func(s *kopf.Settings) {
		s.Queueing.ErrorDelays = slices.Values([]time.Duration{time.Millisecond})
	}))
	x := cluster.Create(example("x"))
	waitHandled(x)
	op.WaitLog("API server rejected the handlers' patch; discarding it")
	c.are(t, "create_1", "create_2")
}

type listed struct {
	Spec struct {
		Items []string `json:"items"`
	} `json:"spec"`
}

func TestTransform_AppliesToNewestVersion(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
	var contended atomic.Int32
	contend := func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(req *http.Request) (*http.Response, error) {
			if req.Method == http.MethodPatch && strings.Contains(req.Header.Get("Content-Type"), "json-patch") && contended.Add(1) == 1 {
				cluster.Object(kex.name(), "x").Patch(tree{"spec": tree{"items": []any{"by another client"}}})
			}
			return next.RoundTrip(req)
		})
	}
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, func(_ context.Context, r *kopf.Change[listed]) error {
			c.add("create")
			kopf.Transform(r.Patch, func(o *listed) { o.Spec.Items = append(o.Spec.Items, "by the handler") })
			r.Result = "done"
			return nil
		}, kopf.ID("create"))
	}, transport(contend))
	x := cluster.Create(example("x"))
	op.WaitLog("Patching was postponed")
	x.WaitFor("it has both items", func(o *kopf.Object) bool {
		return fmt.Sprint(o.Get("spec.items")) == "[by another client by the handler]" && o.Get("status.create") == "done"
	})
	waitHandled(x)
	c.are(t, "create")
}
