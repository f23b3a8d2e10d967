package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/testcluster"
	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopf/meter"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

// countingMeter serves its counts as JSON.
type countingMeter struct {
	mu     sync.Mutex
	counts map[string]float64
	state  func() meter.State
}

func (m *countingMeter) add(n float64, key ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counts[strings.TrimSuffix(fmt.Sprintln(key...), "\n")] += n
}

func (m *countingMeter) Event(resource, kind string)   { m.add(1, "event", resource, kind) }
func (m *countingMeter) Cause(resource, reason string) { m.add(1, "cause", resource, reason) }
func (m *countingMeter) Attempt(a meter.Attempt) {
	m.add(1, "attempt", a.Handler.ID, a.Handler.Kind, a.Outcome)
	m.add(1, "object", a.Handler.Kind, a.Object.Name)
	if a.Called {
		m.add(1, "call", a.Handler.ID, a.Handler.Kind)
	}
}
func (m *countingMeter) Request(verb string, code int, took time.Duration) {
	m.add(1, "request", verb, code)
	if took > 0 {
		m.add(1, "timed", verb)
	}
}
func (m *countingMeter) Restart(resource, reason string) { m.add(1, "restart", resource, reason) }
func (m *countingMeter) Login(succeeded bool)            { m.add(1, "login", succeeded) }
func (m *countingMeter) Pass(resource, outcome, wake string) {
	m.add(1, "pass", resource, outcome, wake)
}
func (m *countingMeter) Apply(resource, result string) { m.add(1, "apply", resource, result) }
func (m *countingMeter) Prune(resource string)         { m.add(1, "prune", resource) }
func (m *countingMeter) Drift(resource string)         { m.add(1, "drift", resource) }
func (m *countingMeter) Begin(handlers []meter.Handler, state func() meter.State) func() {
	for _, h := range handlers {
		m.add(1, "handler", h.ID, h.Kind)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.state = state
	return func() {}
}
func (m *countingMeter) Endpoint() (string, http.Handler) { return "http://127.0.0.1:0/metrics", m }

func (m *countingMeter) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := maps.Clone(m.counts)
	if m.state != nil {
		s := m.state()
		maps.Copy(all, map[string]float64{
			"objects": float64(s.Objects), "retrying": float64(s.Retrying), "daemons": float64(s.Daemons), "timers": float64(s.Timers),
			"queued": float64(s.Queued), "running": float64(s.Running), "sleeping": float64(s.Sleeping), "catching up": float64(s.CatchingUp),
			"posted": float64(s.Posted), "repeated": float64(s.Repeated), "failed": float64(s.Failed), "dropped": float64(s.Dropped),
			"paused": 0,
		})
		for resource, states := range s.Children {
			for state, n := range states {
				all["children "+resource+" "+state] = float64(n)
			}
		}
		if s.Paused {
			all["paused"] = 1
		}
	}
	_ = json.NewEncoder(w).Encode(all)
}

// measure makes an operator serve its metrics and its health at a free port.
func measure(r *kopf.Registry) {
	kopf.OnStartup(r, func(_ context.Context, a *kopf.Activity) error {
		a.Settings.Process.Liveness = "http://127.0.0.1:0/healthz"
		a.Settings.Process.Metrics = &countingMeter{counts: map[string]float64{"login false": 0}}
		return nil
	}, kopf.ID("startup"))
}

// scraped returns the counts of the meter of an operator.
func scraped(t *testing.T, op *kopftest.Operator) map[string]float64 {
	t.Helper()
	_, text := get(t, served(t, op, "/metrics"))
	all := map[string]float64{}
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// waitScraped waits until series have these values. Values of "series+" are minimums.
func waitScraped(t *testing.T, cluster *kopftest.Cluster, op *kopftest.Operator, want map[string]float64) {
	t.Helper()
	var all map[string]float64
	missing := func() (missing []string) {
		all = scraped(t, op)
		for name, value := range want {
			series, least := strings.CutSuffix(name, "+")
			if got, ok := all[series]; !ok || got != value && !least || got < value {
				missing = append(missing, fmt.Sprintf("%s is %v (%t), not %v", series, got, ok, value))
			}
		}
		return missing
	}
	cluster.WaitUntil("all is told", func() bool { return len(missing()) == 0 })
}

const kexKey = "kopfexamples.v1.kopf.dev"

func TestMetrics_Handling(t *testing.T) {
	cluster := newCluster(t)
	before := cluster.Create(example("before"))
	before.Patch(tree{"metadata": tree{"annotations": tree{lastHandled: `{"spec":{"duration":"1m","field":"value","items":["item1","item2"]},"metadata":{"labels":{"somelabel":"somevalue"},"annotations":{"someannotation":"somevalue"}}}`}}})
	op := cluster.Run(func(r *kopf.Registry) {
		measure(r)
		kopf.OnProbe(r, func(context.Context, *kopf.Activity) (string, error) { return "fine", nil }, kopf.ID("probe"))
		kopf.OnCreate(r, kexes, func(_ context.Context, c *change) error {
			if c.Retry == 0 {
				// Another client changes the object, so that the operator waits for its own version.
				cluster.Object(kex.name(), c.Name).Patch(tree{"metadata": tree{"annotations": tree{"others": "early"}}})
				return kopf.Temporaryf(10*time.Millisecond, "once more")
			}
			for _, item := range []string{"a", "b"} {
				c.Sub(item, func(context.Context, *change) error { return nil })
			}
			return nil
		}, kopf.ID("create"))
		kopf.OnCreate(r, kexes, func(context.Context, *change) error {
			return kopf.Temporaryf(time.Hour, "much later")
		}, kopf.ID("patient"), kopf.Labels{"patient": kopf.Present})
		kopf.OnResume(r, kexes, func(context.Context, *change) error { return nil }, kopf.ID("resume"))
		kopf.OnUpdate(r, kexes, func(context.Context, *change) error { return errors.New("whatever") }, kopf.ID("update"), kopf.ErrorsIgnored)
		kopf.OnUpdate(r, kexes, func(context.Context, *change) error {
			t.Error("it is too late for that")
			return nil
		}, kopf.ID("hasty"), kopf.TotalTimeout(time.Millisecond))
		kopf.OnDelete(r, kexes, func(context.Context, *change) error { return kopf.Permanentf("no") }, kopf.ID("delete"))
		kopf.Daemon(r, kexes, func(_ context.Context, d *run) error {
			<-d.Stopping()
			return nil
		}, kopf.ID("daemon"), kopf.Labels{"patient": kopf.Present})
		kopf.Timer(r, kexes, func(context.Context, *tick) error { return nil },
			kopf.ID("timer"), kopf.Interval(time.Hour), kopf.Labels{"patient": kopf.Present})
	})
	waitScraped(t, cluster, op, map[string]float64{
		"event " + kexKey + " listed":       1,
		"cause " + kexKey + " resume":       1,
		"attempt resume resume succeeded":   1,
		"attempt startup startup succeeded": 1,
		"handler delete delete":             1,
		"login false":                       0,
	})
	before.Delete()
	before.WaitGone()
	one := cluster.Create(example("one"))
	waitHandled(one)
	one.Patch(field("other"))
	op.WaitLog("Updating is processed")
	waitHandled(one)
	one.Delete()
	one.WaitGone()
	patient := example("two")
	patient["metadata"].(tree)["labels"] = tree{"patient": "yes"}
	cluster.Create(patient)
	op.WaitLog("much later")
	waitScraped(t, cluster, op, map[string]float64{
		"event " + kexKey + " added":        2,
		"event " + kexKey + " modified+":    4,
		"event " + kexKey + " deleted":      2,
		"cause " + kexKey + " create":       2,
		"cause " + kexKey + " update":       1,
		"cause " + kexKey + " delete":       2,
		"attempt create create waiting":     2,
		"attempt create sub succeeded":      4,
		"attempt create create unfinished+": 1,
		"attempt patient create waiting":    1,
		"attempt update update ignored":     1,
		"attempt delete delete failed":      2,
		"attempt hasty update failed":       1, // without a call
		"call update update":                1,
		"object timer two":                  1,
		"attempt timer timer succeeded":     1,
		"objects":                           1,
		"retrying":                          1,
		"daemons":                           1,
		"timers":                            1,
		"paused":                            0,
		"sleeping":                          1,
		"running":                           0,
		"request get 200+":                  2,
		"request watch 200+":                1,
		"request patch 200+":                5,
		"request create 201+":               1, // Kubernetes events
		"timed patch+":                      5,
		"posted+":                           1,
	})
	if _, called := scraped(t, op)["call hasty update"]; called {
		t.Error("a handler that was not called took its time")
	}
	if code, body := get(t, served(t, op, "/healthz")); code != http.StatusOK || body != `{"probe":"fine"}` {
		t.Error(code, body)
	}
	cluster.Object(kex.name(), "two").Patch(tree{"metadata": tree{"labels": tree{"patient": nil}}})
}

func TestMetrics_Queue(t *testing.T) {
	cluster := newCluster(t)
	proceed := make(chan struct{})
	op := cluster.Run(func(r *kopf.Registry) {
		measure(r)
		kopf.OnCreate(r, kexes, func(context.Context, *change) error {
			<-proceed
			return nil
		}, kopf.ID("create"))
	}, settings(func(s *kopf.Settings) {
		s.Queueing.WorkerLimit = 1
	}))
	a := cluster.Create(example("a"))
	b := cluster.Create(example("b"))
	waitScraped(t, cluster, op, map[string]float64{
		"running": 1, "queued": 1, "objects": 1, "catching up": 0,
	})
	close(proceed)
	waitHandled(a)
	waitHandled(b)
	op.Pause()
	waitScraped(t, cluster, op, map[string]float64{
		"running": 0, "queued": 0, "objects": 2, "paused": 1,
	})
}

func TestMetrics_Logins(t *testing.T) {
	cluster := newCluster(t)
	gate := testcluster.NewGatekeeper(t, time.Hour)
	var closed atomic.Bool
	op := cluster.Run(func(r *kopf.Registry) {
		measure(r)
		kopf.OnLogin(r, func(context.Context, *kopf.Activity) (*kopf.ConnectionInfo, error) {
			if closed.Load() {
				return nil, kopf.Permanentf("closed")
			}
			info := &kopf.ConnectionInfo{Config: gate.Config()}
			info.Config.BearerToken, _ = gate.Token()
			return info, nil
		}, kopf.ID("login"))
		kopf.OnCreate(r, kexes, func(context.Context, *change) error { return nil }, kopf.ID("create"))
		kopf.OnCleanup(r, func(context.Context, *kopf.Activity) error { return nil }, kopf.ID("cleanup"))
	}, withoutConfig)
	waitScraped(t, cluster, op, map[string]float64{
		"login true": 1, "login false": 0,
	})
	gate.Revoke()
	x := cluster.Create(example("x"))
	waitHandled(x)
	waitScraped(t, cluster, op, map[string]float64{
		"login true":                    2,
		"attempt login login succeeded": 2,
	})
	// A watch that is just opened can be refused before the patch.
	cluster.WaitUntil("all refused requests are counted", func() bool {
		counted := 0.0
		for series, value := range scraped(t, op) {
			if strings.HasPrefix(series, "request ") && strings.HasSuffix(series, " 401") {
				counted += value
			}
		}
		refused := gate.Refused(http.MethodPatch) + gate.Refused(http.MethodGet) + gate.Refused("watch")
		return refused > 0 && counted == float64(refused)
	})
}

func TestMetrics_WatchRestarts(t *testing.T) {
	cluster, b := newCluster(t), &breaker{}
	proxy := cluster.FaultProxy(kopftest.Faults{})
	op := cluster.Run(func(r *kopf.Registry) {
		measure(r)
		kopf.OnCreate(r, kexes, func(context.Context, *change) error { return nil }, kopf.ID("create"))
	}, proxy.Connect, transport(b.wrap))
	x := cluster.Create(example("x"))
	waitHandled(x)
	b.end("")
	waitScraped(t, cluster, op, map[string]float64{"restart " + kexKey + " dropped": 1})
	cluster.WaitUntil("it watches again", func() bool { return b.watches.Load() > 1 })
	b.end(expired)
	waitScraped(t, cluster, op, map[string]float64{"restart " + kexKey + " expired+": 1})
	proxy.Down()
	waitScraped(t, cluster, op, map[string]float64{
		"restart " + kexKey + " unavailable+": 1,
		"request watch 0+":                    1,
	})
	proxy.Up()
	waitHandled(x)
}

func TestMetrics_PostedEvents(t *testing.T) {
	cluster := newCluster(t)
	op := cluster.Run(func(r *kopf.Registry) {
		measure(r)
		kopf.OnCreate(r, kexes, func(_ context.Context, c *change) error {
			nowhere := &kopf.Object{}
			if err := nowhere.UnmarshalJSON([]byte(`{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"there-is-no-such","name":"x"}}`)); err != nil {
				return err
			}
			lost, err := c.Recorder.For(nowhere)
			if err != nil {
				return err
			}
			lost.Info("Lost", "not delivered")
			for range 3 {
				c.Recorder.Info("Same", "again and again")
			}
			for i := range 100 {
				c.Recorder.Info("New", fmt.Sprintf("number %d", i))
			}
			return nil
		}, kopf.ID("create"))
	})
	x := cluster.Create(example("x"))
	waitHandled(x)
	waitScraped(t, cluster, op, map[string]float64{
		"posted+":   20,
		"repeated+": 1,
		"failed":    1,
		"dropped+":  60,
	})
}
