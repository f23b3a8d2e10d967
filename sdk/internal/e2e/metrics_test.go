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

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/testcluster"
	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopf/metrics"
)

// measure makes an operator serve its metrics, at a port of its own, with its health: one
// port is enough.
func measure(r *kopf.Registry) {
	kopf.OnStartup(r, func(_ context.Context, a *kopf.Activity) error {
		a.Settings.Process.Liveness = "http://127.0.0.1:0/healthz"
		a.Settings.Process.Metrics = metrics.At("http://127.0.0.1:0/metrics")
		return nil
	}, kopf.ID("startup"))
}

// scraped are all series of an operator with their values.
func scraped(t *testing.T, op *operator) map[string]float64 {
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

// untilScraped waits until series have their values. Those of "series+" are at least that.
func untilScraped(t *testing.T, op *operator, want map[string]float64) {
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
	eventually(t, "all is told", func() bool { return len(missing()) == 0 }, func() any { return strings.Join(missing(), "\n") })
}

const kexKey = `resource="kopfexamples.v1.kopf.dev"`

func TestPrometheusIsToldWhatTheOperatorDoes(t *testing.T) {
	w := newWorld(t)
	w.create(example("before"))
	w.patch("before", tree{"metadata": tree{"annotations": tree{lastHandled: `{"spec":{"duration":"1m","field":"value","items":["item1","item2"]},"metadata":{"labels":{"somelabel":"somevalue"},"annotations":{"someannotation":"somevalue"}}}`}}})
	op := w.run(func(r *kopf.Registry) {
		measure(r)
		kopf.OnProbe(r, func(context.Context, *kopf.Activity) (string, error) { return "fine", nil }, kopf.ID("probe"))
		kopf.OnCreate(r, kexes, func(_ context.Context, c *change) error {
			if c.Retry == 0 {
				// There is a version to wait with, until that of the operator is seen.
				w.patch(c.Name, tree{"metadata": tree{"annotations": tree{"others": "early"}}})
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
		kopf.Daemon(r, kexes, func(_ context.Context, d *kopf.DaemonRun[kopf.Object]) error {
			<-d.Stopping()
			return nil
		}, kopf.ID("daemon"), kopf.Labels{"patient": kopf.Present})
		kopf.Timer(r, kexes, func(context.Context, *kopf.TimerTick[kopf.Object]) error { return nil },
			kopf.ID("timer"), kopf.Interval(time.Hour), kopf.Labels{"patient": kopf.Present})
	}, setup{wrap: delayedWatch(50 * time.Millisecond)}) // so that versions come when there is one to wait for
	untilScraped(t, op, map[string]float64{
		`kopf_events_total{` + kexKey + `,type="listed"}`:                                   1,
		`kopf_causes_total{` + kexKey + `,reason="resume"}`:                                 1,
		`kopf_handler_attempts_total{handler="resume",kind="resume",outcome="succeeded"}`:   1,
		`kopf_handler_attempts_total{handler="startup",kind="startup",outcome="succeeded"}`: 1,
		// What has not happened yet is there already: it has a rate when it does.
		`kopf_handler_attempts_total{handler="delete",kind="delete",outcome="failed"}`: 0,
		`kopf_consistency_wait_seconds_count{result="timeout"}`:                        0,
		`kopf_logins_total{result="failed"}`:                                           0,
	})
	w.delete("before")
	w.untilGone("before")
	w.create(example("one"))
	w.untilHandled("one")
	w.patch("one", tree{"spec": tree{"field": "other"}})
	op.journal.wait(t, "Updating is processed", 1)
	w.untilHandled("one")
	w.delete("one")
	w.untilGone("one")
	patient := example("two")
	patient["metadata"].(tree)["labels"] = tree{"patient": "yes"}
	w.create(patient)
	op.journal.wait(t, "much later", 1)
	untilScraped(t, op, map[string]float64{
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
	w.patch("two", tree{"metadata": tree{"labels": tree{"patient": nil}}})
}

func TestPrometheusIsToldWhoWaitsForWhom(t *testing.T) {
	w := newWorld(t)
	settings, client := inspected(t)
	proceed := make(chan struct{})
	op := w.run(func(r *kopf.Registry) {
		measure(r)
		kopf.OnCreate(r, kexes, func(context.Context, *change) error {
			<-proceed
			return nil
		}, kopf.ID("create"))
	}, setup{settings: func(s *kopf.Settings) {
		settings(s)
		s.Queueing.WorkerLimit = 1
	}})
	w.create(example("a"))
	w.create(example("b"))
	untilScraped(t, op, map[string]float64{
		`kopf_queue_objects{state="running"}`: 1, `kopf_queue_objects{state="queued"}`: 1, `kopf_objects`: 1,
	})
	close(proceed)
	w.untilHandled("a")
	w.untilHandled("b")
	intend(t, client, inspect.IntentPause)
	untilScraped(t, op, map[string]float64{
		`kopf_queue_objects{state="running"}`: 0, `kopf_queue_objects{state="queued"}`: 0, `kopf_objects`: 2, `kopf_paused`: 1,
	})
}

func TestPrometheusIsToldOfLogins(t *testing.T) {
	w := newWorld(t)
	gate := testcluster.NewGatekeeper(t, time.Hour)
	var closed atomic.Bool
	op := w.run(func(r *kopf.Registry) {
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
	}, setup{loggingIn: true})
	untilScraped(t, op, map[string]float64{
		`kopf_logins_total{result="succeeded"}`: 1, `kopf_logins_total{result="failed"}`: 0,
	})
	gate.Revoke()
	w.create(example("x"))
	w.untilHandled("x")
	untilScraped(t, op, map[string]float64{
		`kopf_logins_total{result="succeeded"}`:                                         2,
		`kopf_api_requests_total{verb="patch",code="401"}`:                              1,
		`kopf_handler_attempts_total{handler="login",kind="login",outcome="succeeded"}`: 2,
	})
}

func TestPrometheusIsToldOfTroubleWithWatches(t *testing.T) {
	w, b := newWorld(t), &breaker{}
	way, config := newOutage(t, testcluster.Config(t))
	var begun, healed atomic.Bool
	op := w.run(func(r *kopf.Registry) {
		measure(r)
		kopf.OnCreate(r, kexes, func(_ context.Context, c *change) error {
			if begun.CompareAndSwap(false, true) {
				w.patch(c.Name, tree{"metadata": tree{"annotations": tree{"others": "early"}}})
			}
			return nil
		}, kopf.ID("create_1"))
		kopf.OnCreate(r, kexes, func(context.Context, *change) error { return nil }, kopf.ID("create_2"))
	}, setup{
		config: config,
		wrap: func(next http.RoundTripper) http.RoundTripper {
			// What the operator has written is lost on its way back.
			return b.wrap(heldBack(func(line string) bool {
				return begun.Load() && !healed.Load() && strings.Contains(line, `\"purpose\":`)
			})(next))
		},
		settings: func(s *kopf.Settings) { s.Persistence.ConsistencyTimeout = 50 * time.Millisecond },
	})
	w.create(example("x"))
	untilScraped(t, op, map[string]float64{
		`kopf_consistency_wait_seconds_count{result="timeout"}+`: 1,
		`kopf_consistency_wait_seconds_sum{result="timeout"}+`:   0.05,
	})
	healed.Store(true)
	b.end("")
	untilScraped(t, op, map[string]float64{`kopf_watch_restarts_total{` + kexKey + `,reason="dropped"}`: 1})
	eventually(t, "it watches again", func() bool { return b.watches.Load() > 1 }, func() any { return b.watches.Load() })
	b.end(expired)
	untilScraped(t, op, map[string]float64{`kopf_watch_restarts_total{` + kexKey + `,reason="expired"}+`: 1})
	way.shut()
	untilScraped(t, op, map[string]float64{
		`kopf_watch_restarts_total{` + kexKey + `,reason="unavailable"}+`: 1,
		`kopf_api_requests_total{verb="watch",code="error"}+`:             1,
	})
	way.begin()
	w.untilHandled("x")
}

func TestPrometheusIsToldWhatBecomesOfKubernetesEvents(t *testing.T) {
	w := newWorld(t)
	op := w.run(func(r *kopf.Registry) {
		measure(r)
		kopf.OnCreate(r, kexes, func(_ context.Context, c *change) error {
			nowhere := &kopf.Object{}
			if err := nowhere.UnmarshalJSON([]byte(`{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"there-is-no-such","name":"x"}}`)); err != nil {
				return err
			}
			c.Recorder.For(nowhere).Info("Lost", "nobody reads this")
			for range 3 {
				c.Recorder.Info("Same", "again and again")
			}
			for i := range 100 {
				c.Recorder.Info("New", fmt.Sprintf("number %d", i))
			}
			return nil
		}, kopf.ID("create"))
	})
	w.create(example("x"))
	w.untilHandled("x")
	untilScraped(t, op, map[string]float64{
		`kopf_posted_events_total{result="posted"}+`:   20,
		`kopf_posted_events_total{result="repeated"}+`: 1,
		`kopf_posted_events_total{result="failed"}`:    1,
		`kopf_posted_events_total{result="dropped"}+`:  60,
	})
}
