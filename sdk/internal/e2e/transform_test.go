package e2e

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

type counted struct {
	Spec struct {
		Count int `json:"count"`
	} `json:"spec"`
	Status struct {
		Count int `json:"count"`
	} `json:"status"`
}

// increments is a transformation that must be applied once.
func increments(p *kopf.Patch) {
	kopf.Transform(p, func(o *counted) {
		o.Spec.Count++
		o.Status.Count++
	})
}

// disturbTransforms gives a strange answer to some of the requests of [increments]: n counts the requests for the
// body and for the status separately, from 1.
func disturbTransforms(strange strange, which func(status bool, n int) bool) func(http.RoundTripper) http.RoundTripper {
	var mu sync.Mutex
	seen := map[bool]int{}
	return func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(req *http.Request) (*http.Response, error) {
			if !isWrite(req) || !strings.Contains(req.Header.Get("Content-Type"), "json-patch") {
				return next.RoundTrip(req)
			}
			body, err := io.ReadAll(req.Body)
			if err != nil {
				return nil, err
			}
			req = req.Clone(req.Context())
			req.Body = io.NopCloser(bytes.NewReader(body))
			if !strings.Contains(string(body), "count") {
				return next.RoundTrip(req)
			}
			mu.Lock()
			seen[isStatus(req)]++
			n := seen[isStatus(req)]
			mu.Unlock()
			if which(isStatus(req), n) {
				return strange(req, next)
			}
			return next.RoundTrip(req)
		})
	}
}

// incrementing are the families of handlers that increment once, and how to wait for the end.
var incrementing = map[string]struct {
	register func(*kopf.Registry, *calls)
	wait     func(*kopftest.Operator, *kopftest.Object)
}{
	"handler": {
		func(r *kopf.Registry, c *calls) {
			kopf.OnCreate(r, kexes, func(_ context.Context, r *kopf.Change[counted]) error {
				c.add("called")
				increments(r.Patch)
				return nil
			}, kopf.ID("fn"))
			kopf.OnUpdate(r, kexes, func(_ context.Context, r *change) error {
				r.Logger.Info("it is updated")
				return nil
			}, kopf.ID("update"), kopf.Field("spec.field"))
		},
		func(op *kopftest.Operator, x *kopftest.Object) {
			x.WaitFor("the status is counted", func(o *kopf.Object) bool { return o.Get("status.count") != nil })
			x.Patch(field("changed"))
			op.WaitLog("it is updated")
		},
	},
	"daemon": {
		func(r *kopf.Registry, c *calls) {
			kopf.Daemon(r, kexes, func(_ context.Context, r *kopf.DaemonRun[counted]) error {
				c.add("called")
				increments(r.Patch)
				return nil
			}, kopf.ID("fn"))
		},
		func(op *kopftest.Operator, _ *kopftest.Object) { op.WaitLog("has exited on its own") },
	},
}

func checkCounted(t *testing.T, x *kopftest.Object, c *calls, want string) {
	t.Helper()
	o := x.Get()
	if counts := fmt.Sprint(o.Get("spec.count"), " ", o.Get("status.count")); counts != want {
		t.Errorf("counted: %s", counts)
	}
	c.are(t, "called")
}

func TestTransform_AppliedOnceThoughAnswersAreLost(t *testing.T) {
	for name, strange := range map[string]strange{"lost": lost, "garbled": garbled, "not sent": failing(503)} {
		for where, which := range map[string]func(bool, int) bool{
			"the first":      func(status bool, n int) bool { return !status && n == 1 },
			"the first two":  func(status bool, n int) bool { return !status && n <= 2 },
			"the first five": func(status bool, n int) bool { return !status && n <= 5 },
			"of the status":  func(status bool, n int) bool { return status && n <= 3 },
			"of both":        func(_ bool, n int) bool { return n <= 2 },
		} {
			for who, family := range incrementing {
				t.Run(name+" "+where+" of a "+who, func(t *testing.T) {
					cluster, c := newCluster(t), &calls{}
					op := cluster.Run(func(r *kopf.Registry) { family.register(r, c) },
						transport(disturbTransforms(strange, which)), settings(impatient))
					x := cluster.Create(example("x"))
					family.wait(op, x)
					checkCounted(t, x, c, "1 1")
				})
			}
		}
	}
}

func TestTransform_OthersWereFasterAndAnswerIsLost(t *testing.T) {
	for who, family := range incrementing {
		for when, strange := range map[string]strange{
			"before": func(req *http.Request, next http.RoundTripper) (*http.Response, error) {
				return lost(req, next) // though it has failed
			},
			"after": lost,
		} {
			t.Run(when+" that of a "+who, func(t *testing.T) {
				cluster, c := newCluster(t), &calls{}
				others := func(req *http.Request, next http.RoundTripper) (*http.Response, error) {
					x := cluster.Object(kex.name(), "x")
					if when == "before" {
						x.Patch(tree{"spec": tree{"count": 10}})
						return strange(req, next)
					}
					resp, err := strange(req, next)
					x.Patch(tree{"spec": tree{"count": 10}})
					return resp, err
				}
				op := cluster.Run(func(r *kopf.Registry) { family.register(r, c) },
					transport(disturbTransforms(others, func(status bool, n int) bool { return !status && n == 1 })), settings(impatient))
				x := cluster.Create(example("x"))
				family.wait(op, x)
				want := map[string]string{"before": "11 1", "after": "10 1"}
				checkCounted(t, x, c, want[when])
			})
		}
	}
}

func TestTransform_AppliedOnceThoughRepetitionIsNotFound(t *testing.T) {
	cluster := newCluster(t)
	transforms := func(r *http.Request) bool { return strings.Contains(r.Header.Get("Content-Type"), "json-patch") }
	proxy := cluster.FaultProxy(kopftest.Faults{Rules: []kopftest.FaultRule{
		{Match: transforms, Fault: kopftest.Fault{Kind: kopftest.FaultDrop, AfterEffect: true}, Times: 1},
		{Match: transforms, Fault: kopftest.Fault{Kind: kopftest.FaultStatus, Code: http.StatusNotFound}, Times: 1},
	}})
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, plains, func(_ context.Context, c *kopf.Change[listed]) error {
			kopf.Transform(c.Patch, func(o *listed) { o.Spec.Items = append(o.Spec.Items, "once") })
			return nil
		}, kopf.ID("create"))
	}, proxy.Connect, settings(func(s *kopf.Settings) {
		s.Networking.ErrorBackoffs = slices.Values(slices.Repeat([]time.Duration{time.Millisecond}, 5))
		s.Queueing.ErrorDelays = slices.Values([]time.Duration{time.Millisecond})
	}))
	x := cluster.Create(plain.of(example("x")))
	cluster.WaitUntil("both faults have happened", func() bool { return len(proxy.Injected()) == 2 })
	op.WaitHandled(x)
	if items := fmt.Sprint(x.Get().Get("spec.items")); items != "[item1 item2 once]" {
		t.Errorf("the items are %s", items)
	}
}
