package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

// strange is a strange answer to a PATCH request.
type strange func(req *http.Request, next http.RoundTripper) (*http.Response, error)

// answer answers without the server.
func answer(code int, body string, header ...string) strange {
	return func(req *http.Request, _ http.RoundTripper) (*http.Response, error) {
		resp := &http.Response{
			StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Request: req,
			Body: io.NopCloser(strings.NewReader(body)),
		}
		for i := 0; i < len(header); i += 2 {
			resp.Header.Set(header[i], header[i+1])
		}
		return resp, nil
	}
}

func failing(code int) strange {
	return answer(code, fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"injected","code":%d}`, code))
}

// lost passes the request to the server, and loses the answer.
func lost(req *http.Request, next http.RoundTripper) (*http.Response, error) {
	resp, err := next.RoundTrip(req)
	if err == nil {
		err = errors.Join(errors.New("connection reset by peer"), resp.Body.Close())
	}
	return nil, err
}

// garbled passes the request to the server, and damages the answer.
func garbled(req *http.Request, next http.RoundTripper) (*http.Response, error) {
	resp, err := next.RoundTrip(req)
	if err == nil {
		err = resp.Body.Close()
		resp.Body, resp.ContentLength = io.NopCloser(strings.NewReader(`{"apiVersion":"kopf.dev/v1","kind":"Ko`)), -1
	}
	return resp, err
}

func redirected(req *http.Request, next http.RoundTripper) (*http.Response, error) {
	return answer(http.StatusMovedPermanently, "", "Location", req.URL.String())(req, next)
}

var strangeAnswers = map[string]strange{
	"400": failing(400), "401": failing(401), "404": failing(404), "405": failing(405), "408": failing(408),
	"409": failing(409), "422": failing(422), "301": redirected, "503": failing(503), "lost": lost, "garbled": garbled,
	"a page": answer(200, "<html>welcome</html>"), "another object": answer(200, `{"metadata":{"name":"other"}}`),
	"an old version": answer(200, `{"apiVersion":"kopf.dev/v1","kind":"KopfExample","metadata":{"name":"x","resourceVersion":"1"}}`),
}

// disturbance gives strange answers to some of the PATCH requests.
type disturbance struct {
	strange strange
	which   func(req *http.Request, n int) bool // n counts from 1 those of the same path

	mu   sync.Mutex
	seen map[string]int
}

func (d *disturbance) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTrip(func(req *http.Request) (*http.Response, error) {
		if !isWrite(req) {
			return next.RoundTrip(req)
		}
		d.mu.Lock()
		if d.seen == nil {
			d.seen = map[string]int{}
		}
		d.seen[req.URL.Path]++
		n := d.seen[req.URL.Path]
		d.mu.Unlock()
		if d.which(req, n) {
			return d.strange(req, next)
		}
		return next.RoundTrip(req)
	})
}

func (d *disturbance) count(path string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	for seen, n := range d.seen {
		if strings.HasSuffix(seen, path) {
			return n
		}
	}
	return 0
}

// impatient retries at once.
func impatient(s *kopf.Settings) {
	s.Networking.ErrorBackoffs = slices.Values([]time.Duration{time.Millisecond})
	s.Queueing.ErrorDelays = slices.Values([]time.Duration{time.Millisecond})
}

func isStatus(req *http.Request) bool { return strings.HasSuffix(req.URL.Path, "/status") }

func TestRecord_StrangeAnswerCallsHandlerOnce(t *testing.T) {
	for name, strange := range strangeAnswers {
		for where, which := range map[string]func(*http.Request, int) bool{
			"the first record":  func(req *http.Request, n int) bool { return !isStatus(req) && n == 1 },
			"the second record": func(req *http.Request, n int) bool { return !isStatus(req) && n == 2 },
			"both tries":        func(req *http.Request, n int) bool { return !isStatus(req) && n <= 2 },
			"the result":        func(req *http.Request, n int) bool { return isStatus(req) && n == 1 },
		} {
			t.Run(name+" for "+where, func(t *testing.T) {
				cluster, c := newCluster(t), &calls{}
				d := &disturbance{strange: strange, which: which}
				cluster.Run(func(r *kopf.Registry) {
					kopf.OnCreate(r, kexes, func(_ context.Context, r *change) error {
						c.add("create_1")
						r.Result = "made"
						return nil
					}, kopf.ID("create_1"))
					kopf.OnCreate(r, kexes, c.does("create_2"), kopf.ID("create_2"))
					kopf.OnUpdate(r, kexes, c.does("update"), kopf.ID("update"))
				}, transport(d.wrap), settings(impatient))
				x := cluster.Create(example("x"))
				x.WaitFor("it is handled and has the result", func(o *kopf.Object) bool {
					return handled(o) && o.Get("status.create_1") == "made"
				})
				x.Patch(field("changed"))
				waitHandled(x)
				c.are(t, "create_1", "create_2", "update")
			})
		}
	}
}

func TestRecord_LongTroubleCallsHandlerOnce(t *testing.T) {
	for _, code := range []int{503, 403, 429, 409, 401, 400, 404, 405, 422} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			cluster, c := newCluster(t), &calls{}
			over := make(chan struct{})
			d := &disturbance{strange: failing(code), which: func(*http.Request, int) bool {
				select {
				case <-over:
					return false
				default:
					return true
				}
			}}
			op := cluster.Run(func(r *kopf.Registry) {
				kopf.OnCreate(r, kexes, c.does("create_1"), kopf.ID("create_1"))
				kopf.OnCreate(r, kexes, c.does("create_2"), kopf.ID("create_2"))
				kopf.OnUpdate(r, kexes, c.does("update"), kopf.ID("update"))
			}, transport(d.wrap), settings(impatient))
			x := cluster.Create(example("x"))
			op.WaitInspect("the handler is done, but not recorded", func(s *inspect.Snapshot) bool {
				return len(s.Objects) == 1 && slices.ContainsFunc(s.Objects[0].Handlers, func(h inspect.HandlerState) bool {
					return h.ID == "create_1" && h.State == inspect.PhaseDone && !h.Unrecorded.IsZero()
				})
			})
			x.Patch(field("changed meanwhile"))
			before := d.count("/x")
			cluster.WaitUntil("it is tried again and again", func() bool { return d.count("/x") >= before+20 })
			close(over)
			waitHandled(x)
			op.WaitLog("API server has accepted the delayed changes by create_1")
			op.WaitInspect("it is recorded", func(s *inspect.Snapshot) bool {
				return len(s.Objects) == 1 && !slices.ContainsFunc(s.Objects[0].Handlers, func(h inspect.HandlerState) bool {
					return !h.Unrecorded.IsZero()
				})
			})
			if c.count("create_1") != 1 || c.count("create_2") != 1 {
				t.Errorf("called: %v", c.all())
			}
		})
	}
}

func TestRecord_RefusedResultIsSaid(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
	d := &disturbance{strange: failing(400), which: func(req *http.Request, _ int) bool { return isStatus(req) }}
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, func(_ context.Context, r *change) error {
			c.add("create")
			r.Result = "made"
			return nil
		}, kopf.ID("create"))
		kopf.OnDelete(r, kexes, c.does("delete"), kopf.ID("delete"))
	}, transport(d.wrap), settings(impatient))
	x := cluster.Create(example("x"))
	waitHandled(x)
	op.WaitLog("API server rejected the handlers' patch; discarding it")
	x.Delete()
	x.WaitGone()
	c.are(t, "create", "delete")
}

func TestRecord_ResultsOfDaemonsAndTimersAreNotLost(t *testing.T) {
	for name, strange := range strangeAnswers {
		if name == "400" {
			continue // the changes are refused permanently: see TestRecord_RefusedResultIsSaid
		}
		t.Run(name, func(t *testing.T) {
			cluster, c := newCluster(t), &calls{}
			d := &disturbance{strange: strange, which: func(req *http.Request, n int) bool { return isStatus(req) && n <= 2 }}
			cluster.Run(func(r *kopf.Registry) {
				kopf.Daemon(r, kexes, func(_ context.Context, r *run) error {
					c.add("daemon")
					r.Result = "made"
					return nil
				}, kopf.ID("daemon"))
				kopf.Timer(r, kexes, func(_ context.Context, r *tick) error {
					r.Patch.Set("status.ticks", int64(1))
					return nil
				}, kopf.ID("timer"), kopf.Interval(50*time.Millisecond))
			}, transport(d.wrap), settings(impatient))
			x := cluster.Create(example("x"))
			x.WaitFor("it has both", func(o *kopf.Object) bool {
				return o.Get("status.daemon") == "made" && o.Get("status.ticks") != nil
			})
			c.are(t, "daemon")
		})
	}
}

func TestRecord_NotForAnotherObjectOfTheSameName(t *testing.T) {
	for where, atStatus := range map[string]bool{"the record": false, "the result": true} {
		t.Run(where, func(t *testing.T) {
			cluster, c := newCluster(t), &calls{}
			var recreate sync.Once
			d := &disturbance{which: func(req *http.Request, n int) bool { return isStatus(req) == atStatus && n == 1 }}
			d.strange = func(req *http.Request, next http.RoundTripper) (*http.Response, error) {
				recreate.Do(func() {
					cluster.Object(kex.name(), "x").Delete()
					second := example("x")
					second["spec"].(tree)["field"] = "second"
					cluster.Create(second)
				})
				return failing(503)(req, next)
			}
			op := cluster.Run(func(r *kopf.Registry) {
				kopf.OnCreate(r, kexes, func(_ context.Context, r *change) error {
					field := kopf.GetOr(r.Body, "spec.field", "")
					c.add(field)
					if field == "value" {
						r.Result = "of the first"
					}
					return nil
				}, kopf.ID("create"))
			}, transport(d.wrap), transport(delayedWatch(lag)), settings(impatient))
			cluster.Create(example("x"))
			c.wait(cluster, "second", 1)
			x := cluster.Object(kex.name(), "x")
			waitHandled(x)
			op.WaitLog("Patching was skipped: the object does not exist anymore.")
			if o := x.Get(); o.Get("spec.field") != "second" || o.Get("status.create") != nil {
				t.Errorf("the second object has %v", o.Get("status"))
			}
			c.are(t, "value", "second")
		})
	}
}

func TestRecord_LastPatchOfDaemonNotForAnotherObjectOfTheSameName(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
	release := make(chan struct{})
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.Daemon(r, kexes, func(_ context.Context, r *run) error {
			c.add("daemon")
			<-release
			r.Patch.Set("metadata.labels.by", "first")
			r.Result = "of the first"
			return nil
		}, kopf.ID("daemon"), kopf.When(func(_ context.Context, o *kopf.Object) bool { return o.Get("spec.field") == "value" }))
	}, settings(impatient))
	x := cluster.Create(example("x"))
	c.wait(cluster, "daemon", 1)
	x.Delete()
	x.Patch(tree{"metadata": tree{"finalizers": nil}})
	x.WaitGone()
	op.WaitInspect("it is forgotten", func(s *inspect.Snapshot) bool { return len(s.Objects) == 0 })
	second := example("x")
	second["spec"].(tree)["field"] = "second"
	x = cluster.Create(second)
	close(release)
	op.WaitLog("has exited on request")
	if o := x.Get(); o.Get("metadata.labels.by") != nil || o.Get("status.daemon") != nil {
		t.Errorf("the second object has %v and %v", o.Get("metadata.labels"), o.Get("status"))
	}
}
