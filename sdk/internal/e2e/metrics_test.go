package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/testcluster"
	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopf/metrics"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

// measure makes an operator serve its metrics and its health at a free port.
func measure(r *kopf.Registry) {
	kopf.OnStartup(r, func(_ context.Context, a *kopf.Activity) error {
		a.Settings.Process.Liveness = "http://127.0.0.1:0/healthz"
		a.Settings.Process.Metrics = metrics.At("http://127.0.0.1:0/metrics")
		return nil
	}, kopf.ID("startup"))
}

// scraped returns all series of an operator with their values.
func scraped(t *testing.T, op *kopftest.Operator) map[string]float64 {
	t.Helper()
	_, text := get(t, served(t, op, "/metrics"))
	all := map[string]float64{}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		i := strings.LastIndexByte(line, ' ')
		value, err := strconv.ParseFloat(strings.TrimSpace(line[i:]), 64)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		all[line[:i]] = value
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

const kexKey = `resource="kopfexamples.v1.kopf.dev"`

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
		}, kopf.ID("hasty"), kopf.Timeout(time.Microsecond))
		kopf.OnDelete(r, kexes, func(context.Context, *change) error { return kopf.Permanentf("no") }, kopf.ID("delete"))
		kopf.Daemon(r, kexes, func(_ context.Context, d *run) error {
			<-d.Stopping()
			return nil
		}, kopf.ID("daemon"), kopf.Labels{"patient": kopf.Present})
		kopf.Timer(r, kexes, func(context.Context, *tick) error { return nil },
			kopf.ID("timer"), kopf.Interval(time.Hour), kopf.Labels{"patient": kopf.Present})
	}, transport(delayedWatch(50*time.Millisecond))) // so that versions come when there is one to wait for
	waitScraped(t, cluster, op, map[string]float64{
		`kopf_events_total{` + kexKey + `,type="listed"}`:                                   1,
		`kopf_causes_total{` + kexKey + `,reason="resume"}`:                                 1,
		`kopf_handler_attempts_total{handler="resume",kind="resume",outcome="succeeded"}`:   1,
		`kopf_handler_attempts_total{handler="startup",kind="startup",outcome="succeeded"}`: 1,
		// Series of what has not happened yet exist, so that they have a rate when it does.
		`kopf_handler_attempts_total{handler="delete",kind="delete",outcome="failed"}`: 0,
		`kopf_consistency_wait_seconds_count{result="timeout"}`:                        0,
		`kopf_logins_total{result="failed"}`:                                           0,
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
		`kopf_events_total{` + kexKey + `,type="added"}`:                                    2,
		`kopf_events_total{` + kexKey + `,type="modified"}+`:                                4,
		`kopf_events_total{` + kexKey + `,type="deleted"}`:                                  2,
		`kopf_causes_total{` + kexKey + `,reason="create"}`:                                 2,
		`kopf_causes_total{` + kexKey + `,reason="update"}`:                                 1,
		`kopf_causes_total{` + kexKey + `,reason="delete"}`:                                 2,
		`kopf_handler_attempts_total{handler="create",kind="create",outcome="retried"}`:     2,
		`kopf_handler_attempts_total{handler="create",kind="sub",outcome="succeeded"}`:      4,
		`kopf_handler_attempts_total{handler="create",kind="create",outcome="unfinished"}+`: 1,
		`kopf_handler_attempts_total{handler="patient",kind="create",outcome="retried"}`:    1,
		`kopf_handler_attempts_total{handler="update",kind="update",outcome="ignored"}`:     1,
		`kopf_handler_attempts_total{handler="delete",kind="delete",outcome="failed"}`:      2,
		`kopf_handler_attempts_total{handler="hasty",kind="update",outcome="failed"}`:       1, // without a call
		`kopf_handler_duration_seconds_count{handler="update",kind="update"}`:               1,
		`kopf_handler_duration_seconds_bucket{handler="update",kind="update",le="+Inf"}`:    1,
		`kopf_handler_attempts_total{handler="timer",kind="timer",outcome="succeeded"}`:     1,
		`kopf_objects`:                         1,
		`kopf_retries_pending`:                 1,
		`kopf_daemons`:                         1,
		`kopf_timers`:                          1,
		`kopf_paused`:                          0,
		`kopf_queue_objects{state="sleeping"}`: 1,
		`kopf_queue_objects{state="running"}`:  0,
		`kopf_consistency_wait_seconds_count{result="seen"}+`:    1,
		`kopf_api_requests_total{verb="get",code="200"}+`:        2,
		`kopf_api_requests_total{verb="watch",code="200"}+`:      1,
		`kopf_api_requests_total{verb="patch",code="200"}+`:      5,
		`kopf_api_requests_total{verb="create",code="201"}+`:     1, // Kubernetes events
		`kopf_api_request_duration_seconds_count{verb="patch"}+`: 5,
		`kopf_posted_events_total{result="posted"}+`:             1,
	})
	if _, called := scraped(t, op)[`kopf_handler_duration_seconds_count{handler="hasty",kind="update"}`]; called {
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
		`kopf_queue_objects{state="running"}`: 1, `kopf_queue_objects{state="queued"}`: 1, `kopf_objects`: 1,
	})
	close(proceed)
	waitHandled(a)
	waitHandled(b)
	op.Pause()
	waitScraped(t, cluster, op, map[string]float64{
		`kopf_queue_objects{state="running"}`: 0, `kopf_queue_objects{state="queued"}`: 0, `kopf_objects`: 2, `kopf_paused`: 1,
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
		`kopf_logins_total{result="succeeded"}`: 1, `kopf_logins_total{result="failed"}`: 0,
	})
	gate.Revoke()
	x := cluster.Create(example("x"))
	waitHandled(x)
	waitScraped(t, cluster, op, map[string]float64{
		`kopf_logins_total{result="succeeded"}`:                                         2,
		`kopf_api_requests_total{verb="patch",code="401"}`:                              1,
		`kopf_handler_attempts_total{handler="login",kind="login",outcome="succeeded"}`: 2,
	})
}

func TestMetrics_WatchRestarts(t *testing.T) {
	cluster, b := newCluster(t), &breaker{}
	proxy, config := newOutage(t, testcluster.Config(t))
	var begun, healed atomic.Bool
	op := cluster.Run(func(r *kopf.Registry) {
		measure(r)
		kopf.OnCreate(r, kexes, func(_ context.Context, c *change) error {
			if begun.CompareAndSwap(false, true) {
				cluster.Object(kex.name(), c.Name).Patch(tree{"metadata": tree{"annotations": tree{"others": "early"}}})
			}
			return nil
		}, kopf.ID("create_1"))
		kopf.OnCreate(r, kexes, func(context.Context, *change) error { return nil }, kopf.ID("create_2"))
	}, connect(config), transport(func(next http.RoundTripper) http.RoundTripper {
		// The watch loses what the operator has written.
		return b.wrap(heldBack(func(line string) bool {
			return begun.Load() && !healed.Load() && strings.Contains(line, `\"purpose\":`)
		})(next))
	}), settings(func(s *kopf.Settings) { s.Persistence.ConsistencyTimeout = 50 * time.Millisecond }))
	x := cluster.Create(example("x"))
	waitScraped(t, cluster, op, map[string]float64{
		`kopf_consistency_wait_seconds_count{result="timeout"}+`: 1,
		`kopf_consistency_wait_seconds_sum{result="timeout"}+`:   0.05,
	})
	healed.Store(true)
	b.end("")
	waitScraped(t, cluster, op, map[string]float64{`kopf_watch_restarts_total{` + kexKey + `,reason="dropped"}`: 1})
	cluster.WaitUntil("it watches again", func() bool { return b.watches.Load() > 1 })
	b.end(expired)
	waitScraped(t, cluster, op, map[string]float64{`kopf_watch_restarts_total{` + kexKey + `,reason="expired"}+`: 1})
	proxy.shut()
	waitScraped(t, cluster, op, map[string]float64{
		`kopf_watch_restarts_total{` + kexKey + `,reason="unavailable"}+`: 1,
		`kopf_api_requests_total{verb="watch",code="error"}+`:             1,
	})
	proxy.begin()
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
			c.Recorder.For(nowhere).Info("Lost", "not delivered")
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
		`kopf_posted_events_total{result="posted"}+`:   20,
		`kopf_posted_events_total{result="repeated"}+`: 1,
		`kopf_posted_events_total{result="failed"}`:    1,
		`kopf_posted_events_total{result="dropped"}+`:  60,
	})
}
