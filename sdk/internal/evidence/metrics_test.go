package evidence

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopf/metrics"
)

func TestPrometheusIsToldWhatTheOperatorDoes(t *testing.T) {
	w := newWorld(t)
	op := w.run(func(r *kopf.Registry) {
		kopf.OnStartup(r, func(_ context.Context, a *kopf.Activity) error {
			// One port is enough.
			a.Settings.Process.Liveness = "http://127.0.0.1:0/healthz"
			a.Settings.Process.Metrics = metrics.At("http://127.0.0.1:0/metrics")
			return nil
		}, kopf.ID("startup"))
		kopf.OnProbe(r, func(context.Context, *kopf.Activity) (string, error) { return "fine", nil }, kopf.ID("probe"))
		kopf.OnCreate(r, kexes, func(_ context.Context, c *change) error {
			if c.Retry == 0 {
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
		kopf.OnUpdate(r, kexes, func(context.Context, *change) error { return errors.New("whatever") }, kopf.ID("update"), kopf.ErrorsIgnored)
		kopf.OnDelete(r, kexes, func(context.Context, *change) error { return kopf.Permanentf("no") }, kopf.ID("delete"))
		kopf.Daemon(r, kexes, func(_ context.Context, d *kopf.DaemonRun[kopf.Object]) error {
			<-d.Stopping()
			return nil
		}, kopf.ID("daemon"), kopf.Labels{"patient": kopf.Present})
	})
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

	url := served(t, op, "/metrics")
	wanted := []string{
		`kopf_events_total{resource="kopfexamples.v1.kopf.dev",type="added"} 2`,
		`kopf_events_total{resource="kopfexamples.v1.kopf.dev",type="deleted"} 1`,
		`kopf_causes_total{resource="kopfexamples.v1.kopf.dev",reason="create"} 2`,
		`kopf_causes_total{resource="kopfexamples.v1.kopf.dev",reason="update"} 1`,
		`kopf_causes_total{resource="kopfexamples.v1.kopf.dev",reason="delete"} 1`,
		`kopf_handler_attempts_total{handler="create",kind="create",outcome="retried"} 2`,
		`kopf_handler_attempts_total{handler="create",kind="sub",outcome="succeeded"} 4`,
		`kopf_handler_attempts_total{handler="patient",kind="create",outcome="retried"} 1`,
		`kopf_handler_attempts_total{handler="update",kind="update",outcome="ignored"} 1`,
		`kopf_handler_attempts_total{handler="delete",kind="delete",outcome="failed"} 1`,
		`kopf_handler_duration_seconds_count{handler="update",kind="update"} 1`,
		"kopf_objects 1",
		"kopf_retries_pending 1",
		"kopf_daemons 1",
		`kopf_queue_objects{state="sleeping"} 1`,
		`kopf_api_requests_total{verb="watch",code="200"}`,
		`kopf_api_requests_total{verb="patch",code="200"}`,
		`kopf_posted_events_total{result="dropped"} 0`,
	}
	var text string
	missing := func() (missing []string) {
		_, text = get(t, url)
		for _, line := range wanted {
			if !strings.Contains(text, line) {
				missing = append(missing, line)
			}
		}
		return missing
	}
	eventually(t, "all is told", func() bool { return len(missing()) == 0 }, func() any { return strings.Join(missing(), "\n") + "\n\n" + text })
	if code, body := get(t, strings.Replace(url, "/metrics", "/healthz", 1)); code != http.StatusOK || body != `{"probe":"fine"}` {
		t.Error(code, body)
	}
	w.patch("two", tree{"metadata": tree{"labels": tree{"patient": nil}}})
}
