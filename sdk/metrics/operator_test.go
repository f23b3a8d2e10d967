package metrics_test

import (
	"context"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
	"github.com/kopf-dev/kopf/sdk/metrics"
)

func TestMain(m *testing.M) { kopftest.Main(m) }

func TestMetrics_OfOperatorAndItsHandlers(t *testing.T) {
	cluster := kopftest.New(t)
	registry := prometheus.NewRegistry()
	greeted := promauto.With(registry).NewCounter(prometheus.CounterOpts{Name: "greeted_total", Help: "Greetings."})
	operator := cluster.Run(func(r *kopf.Registry) {
		kopf.OnStartup(r, func(_ context.Context, a *kopf.Activity) error {
			a.Settings.Process.Liveness = "http://127.0.0.1:0/healthz"
			a.Settings.Process.Metrics = metrics.New(metrics.Options{
				Endpoint: "http://127.0.0.1:0/metrics", Registerer: registry,
			})
			return nil
		}, kopf.ID("startup"))
		kopf.OnCreate(r, kopf.Resource("v1", "configmaps"), func(context.Context, *kopf.Change[kopf.Object]) error {
			greeted.Inc()
			return nil
		}, kopf.ID("create"), kopf.Labels{"greet": kopf.Present})
	})
	operator.WaitHandled(cluster.Apply(`{apiVersion: v1, kind: ConfigMap, metadata: {name: first, labels: {greet: "yes"}}}`))
	url := endpoint(t, operator)
	cluster.WaitUntil("the attempt is counted", func() bool {
		return strings.Contains(fetch(t, url, "text/plain"), `kopf_handler_attempts_total{handler="create",kind="create",outcome="succeeded"} 1`+"\n")
	})
	if text := fetch(t, url, "text/plain"); !strings.Contains(text, "\ngreeted_total 1\n") {
		t.Errorf("the metrics of the program are not in\n%s", text)
	}
	bucket := regexp.MustCompile(`kopf_handler_duration_seconds_bucket\{handler="create",[^\n]* 1 # \{[^\n]*name="first"`)
	if text := fetch(t, url, "application/openmetrics-text; version=1.0.0"); !bucket.MatchString(text) {
		t.Errorf("the object is no exemplar in\n%s", text)
	}
}

func TestMetrics_ShardsOfReplica(t *testing.T) {
	cluster := kopftest.New(t)
	replica := func(identity string) *kopftest.Operator {
		return cluster.Run(func(r *kopf.Registry) {
			kopf.OnCreate(r, kopf.Resource("v1", "configmaps"), func(context.Context, *kopf.Change[kopf.Object]) error { return nil }, kopf.ID("create"))
		}, func(o *kopf.Operator) {
			o.Settings.Process.Metrics = metrics.At("http://127.0.0.1:0/metrics")
			o.Settings.Scaling = kopf.ScalingSettings{
				Shards: 4, LeaseName: "replicas", LeaseNamespace: cluster.Namespace, Identity: identity,
				LeaseDuration: time.Hour, RenewDeadline: 50 * time.Minute, RetryPeriod: 300 * time.Millisecond,
			}
		})
	}
	waitFor := func(operator *kopftest.Operator, lines ...string) {
		t.Helper()
		url := endpoint(t, operator)
		for _, line := range lines {
			cluster.WaitUntil(line, func() bool { return strings.Contains(fetch(t, url, "text/plain"), "\n"+line+"\n") })
		}
	}
	first := replica("first")
	waitFor(first, "kopf_shards 4", `kopf_shard_leases_total{result="acquired"} 4`, `kopf_shard_leases_total{result="released"} 0`, "kopf_leader 0")
	second := replica("second")
	waitFor(first, `kopf_shard_leases_total{result="released"} 2`, "kopf_shards 2", `kopf_shard_leases_total{result="lost"} 0`)
	waitFor(second, "kopf_shards 2")
}

// endpoint returns the URL at which an operator serves its metrics.
func endpoint(t *testing.T, operator *kopftest.Operator) string {
	t.Helper()
	for _, e := range operator.LogEntries() {
		if url, ok := strings.CutPrefix(e.Message, "Serving "); ok && strings.HasSuffix(url, "/metrics") {
			return url
		}
	}
	t.Fatal("the metrics are not served")
	return ""
}

func fetch(t *testing.T, url, format string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", format)
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s (%v)", resp.Status, body, err)
	}
	return string(body)
}
