package metrics

import (
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
	"github.com/kopf-dev/kopf/sdk/kopf/meter"
)

// scrape returns the metrics in the text format.
func scrape(t *testing.T, m *Metrics) string {
	t.Helper()
	return scrapeAs(t, m, "text/plain; version=0.0.4; charset=utf-8")
}

func scrapeAs(t *testing.T, m *Metrics, format string) string {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil)
	r.Header.Set("Accept", format)
	w := httptest.NewRecorder()
	m.ServeHTTP(w, r)
	if got := w.Header().Get("Content-Type"); w.Code != http.StatusOK || !strings.HasPrefix(got, format) {
		t.Errorf("%d %v\n%s", w.Code, w.Header(), w.Body)
	}
	return w.Body.String()
}

// alone returns metrics in a strict registry without go_ and process_ metrics.
func alone() *Metrics { return New(Options{Registerer: prometheus.NewPedanticRegistry()}) }

func attempt(outcome meter.Outcome) meter.Attempt {
	return meter.Attempt{
		Handler: meter.Handler{ID: "create", Kind: "create"}, Called: true, Outcome: outcome, Took: time.Millisecond,
		Object: meter.Object{Namespace: "ns", Name: "one", UID: "uid-1"},
	}
}

func expectIn(t *testing.T, text string, lines ...string) {
	t.Helper()
	for _, want := range lines {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not in\n%s", want, text)
		}
	}
}

func TestMetrics_NamesLabelsAndValues(t *testing.T) {
	m := alone()
	m.Event("pods.v1", "added")
	m.Event("pods.v1", "added")
	m.Event("pods.v1", "modified")
	m.Cause("pods.v1", "create")
	m.Attempt(meter.Attempt{Handler: meter.Handler{ID: "create", Kind: "create"}, Called: true, Outcome: meter.Retried, Took: 20 * time.Millisecond})
	m.Attempt(meter.Attempt{Handler: meter.Handler{ID: "create", Kind: "create"}, Called: true, Outcome: meter.Succeeded, Took: time.Hour})
	m.Attempt(meter.Attempt{Handler: meter.Handler{ID: "create", Kind: "create"}, Outcome: meter.Failed})
	m.Request("patch", 200, time.Millisecond)
	m.Request("watch", 0, time.Hour)
	m.Restart("pods.v1", "a\"strange\"\\\nreason")
	m.Login(true)
	m.Login(false)
	m.Pass("shops.v1.example.com", "complete", "child")
	m.Apply("deployments.v1.apps", "changed")
	m.Apply("deployments.v1.apps", "changed")
	m.Prune("deployments.v1.apps")
	m.Drift("deployments.v1.apps")
	defer m.Begin([]meter.Handler{{ID: "tick", Kind: "timer"}}, func() meter.State {
		return meter.State{
			Objects: 3, Retrying: 1, Queued: 4, Running: 2, Sleeping: 1, CatchingUp: 8, Daemons: 5, Timers: 6, Paused: true, Posted: 7, Dropped: 1,
			Shards: 4, ShardsAcquired: 9, ShardsReleased: 3, ShardsLost: 2, Leads: true, TimesElected: 2, LeasesLost: 1,
			Children: map[string]map[string]int{"deployments.v1.apps": {"ready": 3, "failed": 1}}}
	})()
	want, err := os.Open("testdata/metrics.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer want.Close()
	if err := testutil.CollectAndCompare(m, want); err != nil {
		t.Error(err)
	}
}

func TestMetrics_CountsOutliveOperator(t *testing.T) {
	m := alone()
	end := m.Begin(nil, func() meter.State {
		return meter.State{Objects: 1, Posted: 2, Shards: 3, ShardsAcquired: 5, Children: map[string]map[string]int{"pods.v1": {"ready": 2, "failed": 1}}}
	})
	defer m.Begin(nil, func() meter.State {
		return meter.State{Objects: 10, Posted: 20, Children: map[string]map[string]int{"pods.v1": {"ready": 1}}}
	})()
	for _, want := range []string{"kopf_objects 11\n", `kopf_children{resource="pods.v1",state="ready"} 3`, `kopf_posted_events_total{result="posted"} 22`} {
		if text := scrape(t, m); !strings.Contains(text, want) {
			t.Errorf("%s is not in\n%s", want, text)
		}
	}
	end()
	for _, want := range []string{"kopf_objects 10\n", `kopf_children{resource="pods.v1",state="ready"} 1`, "kopf_shards 0\n", `kopf_shard_leases_total{result="acquired"} 5`, `kopf_posted_events_total{result="posted"} 22`} {
		if text := scrape(t, m); !strings.Contains(text, want) {
			t.Errorf("%s is not in\n%s", want, text)
		}
	}
}

func TestMetrics_ConcurrentUse(t *testing.T) {
	m := alone()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 1000 {
				m.Attempt(meter.Attempt{Handler: meter.Handler{ID: "h", Kind: "timer"}, Called: true, Outcome: meter.Succeeded, Took: time.Second})
			}
		})
	}
	for range 10 {
		scrape(t, m)
	}
	wg.Wait()
	for _, want := range []string{
		`kopf_handler_attempts_total{handler="h",kind="timer",outcome="succeeded"} 8000`,
		`kopf_handler_duration_seconds_bucket{handler="h",kind="timer",le="0.5"} 0`,
		`kopf_handler_duration_seconds_bucket{handler="h",kind="timer",le="1"} 8000`,
		`kopf_handler_duration_seconds_bucket{handler="h",kind="timer",le="+Inf"} 8000`,
		`kopf_handler_duration_seconds_sum{handler="h",kind="timer"} 8000`,
	} {
		if text := scrape(t, m); !strings.Contains(text, want+"\n") {
			t.Errorf("%s is not in\n%s", want, text)
		}
	}
}

// row is the documentation of a metric.
type row struct {
	kind   string
	labels []string
	values string // documented values of the labels
}

func documented(t *testing.T) map[string]row {
	t.Helper()
	page, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]row{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(kopf_\\w+)` \\| (\\w+) \\| (.*?) ?\\|").FindAllStringSubmatch(string(page), -1) {
		r := row{kind: m[2], values: m[3]}
		for _, label := range regexp.MustCompile("(?:^|[,;] )`(resource|type|reason|wake|handler|kind|outcome|state|result|verb|code)`").FindAllStringSubmatch(m[3], -1) {
			r.labels = append(r.labels, label[1])
		}
		rows[m[1]] = r
	}
	return rows
}

func TestMetrics_AllDocumented(t *testing.T) {
	rows := documented(t)
	all, err := os.ReadFile("testdata/metrics.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`# TYPE (\S+) (\S+)\n(\S*)`).FindAllStringSubmatch(string(all), -1) {
		name, kind, series := m[1], m[2], m[3]
		var labels []string
		for _, label := range regexp.MustCompile(`[{,](\w+)="`).FindAllStringSubmatch(series, -1) {
			if label[1] != "le" {
				labels = append(labels, label[1])
			}
		}
		slices.Sort(rows[name].labels)
		if r := rows[name]; r.kind != kind || !slices.Equal(r.labels, labels) {
			t.Errorf("docs/metrics.md tells of the %s %s with %q, not of the %s with %q", r.kind, name, r.labels, kind, labels)
		}
		delete(rows, name)
	}
	for name := range rows {
		t.Errorf("docs/metrics.md tells of %s, which there is not", name)
	}
}

func TestMetrics_LabelValuesDocumented(t *testing.T) {
	rows := documented(t)
	words := map[string][]string{
		"kopf_logins_total": {succeeded, failed},
	}
	for _, outcome := range outcomes {
		words["kopf_handler_attempts_total"] = append(words["kopf_handler_attempts_total"], string(outcome))
	}
	for _, reason := range []watch.Reason{
		watch.Closed, watch.Dropped, watch.Damaged, watch.Silent, watch.ClientTimeout, watch.Expired, watch.Throttled,
		watch.Unauthorized, watch.Forbidden, watch.NotFound, watch.Unavailable, watch.Rejected,
	} {
		words["kopf_watch_restarts_total"] = append(words["kopf_watch_restarts_total"], string(reason))
	}
	for _, outcome := range []inspect.PassOutcome{inspect.PassComplete, inspect.PassWaiting, inspect.PassRetrying, inspect.PassFailed} {
		words["kopf_passes_total"] = append(words["kopf_passes_total"], string(outcome))
	}
	for _, wake := range []inspect.WakeKind{
		inspect.WakeObject, inspect.WakeStart, inspect.WakeChild, inspect.WakeVerify, inspect.WakeWatched, inspect.WakeRecheck, inspect.WakeRetry, inspect.WakeRequest,
	} {
		words["kopf_passes_total"] = append(words["kopf_passes_total"], string(wake))
	}
	for _, result := range []inspect.ChildResult{
		inspect.ResultCreated, inspect.ResultChanged, inspect.ResultReverted, inspect.ResultYielded, inspect.ResultUnchanged, inspect.ResultRefused, inspect.ResultAwaited,
	} {
		words["kopf_applies_total"] = append(words["kopf_applies_total"], string(result))
	}
	for _, state := range []inspect.ChildState{inspect.ChildReady, inspect.ChildProgressing, inspect.ChildFailed, inspect.ChildTerminating, inspect.ChildUnknown} {
		words["kopf_children"] = append(words["kopf_children"], string(state))
	}
	for name, all := range words {
		for _, word := range all {
			if !strings.Contains(rows[name].values, "`"+word+"`") {
				t.Errorf("docs/metrics.md does not tell that a label of %s may be %s", name, word)
			}
		}
	}
}

func TestMetrics_PassPromlint(t *testing.T) {
	m := alone()
	m.Event("pods.v1", "added")
	m.Cause("pods.v1", "create")
	m.Attempt(attempt(meter.Succeeded))
	m.Request("get", 200, time.Second)
	m.Restart("pods.v1", "closed")
	m.Pass("shops.v1.example.com", "complete", "child")
	m.Apply("deployments.v1.apps", "changed")
	m.Prune("deployments.v1.apps")
	m.Drift("deployments.v1.apps")
	defer m.Begin(nil, func() meter.State {
		return meter.State{Children: map[string]map[string]int{"deployments.v1.apps": {"ready": 1}}}
	})()
	problems, err := testutil.CollectAndLint(m)
	if err != nil || len(problems) > 0 {
		t.Error(problems, err)
	}
	names := regexp.MustCompile(`# HELP (\S+)`).FindAllStringSubmatch(scrape(t, m), -1)
	if len(names) != len(documented(t)) {
		t.Errorf("%d metrics were checked, but %d are documented", len(names), len(documented(t)))
	}
	for _, name := range names {
		if !strings.HasPrefix(name[1], "kopf_") {
			t.Errorf("%s could be any program's", name[1])
		}
	}
}

// A series that appears with its first event has no rate for it.
func TestMetrics_KnownSeriesBeginAtZero(t *testing.T) {
	m := alone()
	defer m.Begin([]meter.Handler{{ID: "delete", Kind: "delete"}}, func() meter.State { return meter.State{} })()
	expectIn(t, scrape(t, m),
		`kopf_handler_attempts_total{handler="delete",kind="delete",outcome="failed"} 0`+"\n",
		`kopf_logins_total{result="failed"} 0`+"\n",
	)
}

func TestMetrics_GoAndProcessMetrics(t *testing.T) {
	expectIn(t, scrape(t, New(Options{})), "\ngo_goroutines ", "\nprocess_open_fds ", "\nkopf_objects 0\n")
}

func TestMetrics_UsersMetricsInSameRegistry(t *testing.T) {
	registry := prometheus.NewRegistry()
	m := New(Options{Registerer: prometheus.WrapRegistererWith(prometheus.Labels{"team": "blue"}, registry), Gatherer: registry})
	promauto.With(registry).NewCounter(prometheus.CounterOpts{Name: "claims_bound_total", Help: "Claims."}).Inc()
	m.Login(true)
	text := scrape(t, m)
	expectIn(t, text, "\nclaims_bound_total 1\n", `kopf_logins_total{result="succeeded",team="blue"} 1`)
	if strings.HasPrefix(text, "go_") || strings.Contains(text, "\ngo_") {
		t.Error("the user's registry got more than asked for")
	}
	if got, err := testutil.GatherAndCount(registry, "kopf_logins_total", "claims_bound_total"); got != 3 || err != nil {
		t.Error("the registry does not gather all:", got, err)
	}
}

// A startup handler that makes the metrics can be retried.
func TestMetrics_SharedByRegisterer(t *testing.T) {
	registry, wrapped := prometheus.NewRegistry(), prometheus.NewRegistry()
	for _, o := range []Options{
		{Registerer: registry},
		{Registerer: prometheus.WrapRegistererWith(prometheus.Labels{"team": "blue"}, wrapped), Gatherer: wrapped},
	} {
		one := New(o)
		o.Endpoint = "http://two"
		two := New(o)
		one.Login(true)
		two.Login(true)
		if got := testutil.ToFloat64(one.logins.WithLabelValues(succeeded)); got != 2 {
			t.Errorf("%v logins, not 2", got)
		}
		if url, _ := one.Endpoint(); url != "" {
			t.Errorf("the endpoint of the other is %s", url)
		}
		if url, _ := two.Endpoint(); url != "http://two" {
			t.Errorf("the endpoint is %s", url)
		}
	}
}

func TestNew_PanicsOnMistakes(t *testing.T) {
	taken := prometheus.NewRegistry()
	promauto.With(taken).NewGauge(prometheus.GaugeOpts{Name: "kopf_objects", Help: "Mine."})
	for name, options := range map[string]Options{
		"name that is taken": {Registerer: taken},
		"only a gatherer":    {Gatherer: taken},
		"no gatherer":        {Registerer: prometheus.WrapRegistererWithPrefix("my_", prometheus.NewRegistry())},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			New(options)
		})
	}
}

func TestMetrics_ExemplarsNameObjects(t *testing.T) {
	m := alone()
	m.Attempt(attempt(meter.Succeeded))
	slow, activity, wide, long := attempt(meter.Failed), attempt(meter.Retried), attempt(meter.Ignored), attempt(meter.Unfinished)
	slow.Took, slow.Object.UID = time.Minute, "uid-2"
	activity.Handler, activity.Object = meter.Handler{ID: "startup", Kind: "startup"}, meter.Object{}
	wide.Object.Namespace = ""
	long.Object.Name = strings.Repeat("n", 128)
	for _, a := range []meter.Attempt{slow, activity, long, wide} {
		m.Attempt(a)
	}
	exemplars := regexp.MustCompile(`# \{(.*?)\} (\S+) \S+\n`)
	text := exemplars.ReplaceAllStringFunc(scrapeAs(t, m, "application/openmetrics-text; version=1.0.0"), func(line string) string {
		part := exemplars.FindStringSubmatch(line)
		labels := strings.Split(part[1], ",")
		slices.Sort(labels)
		return "# {" + strings.Join(labels, ",") + "} " + part[2] + "\n" // without the time
	})
	expectIn(t, text,
		`kopf_handler_attempts_total{handler="create",kind="create",outcome="succeeded"} 1.0`+"\n",
		`kopf_handler_attempts_total{handler="create",kind="create",outcome="failed"} 1.0 # {name="one",namespace="ns",uid="uid-2"} 1.0`+"\n",
		`kopf_handler_attempts_total{handler="startup",kind="startup",outcome="retried"} 1.0`+"\n",
		`kopf_handler_attempts_total{handler="create",kind="create",outcome="ignored"} 1.0 # {name="one",uid="uid-1"} 1.0`+"\n",
		`kopf_handler_attempts_total{handler="create",kind="create",outcome="unfinished"} 1.0 # {uid="uid-1"} 1.0`+"\n",
		`kopf_handler_duration_seconds_bucket{handler="create",kind="create",le="0.001"} 3 # {name="one",uid="uid-1"} 0.001`+"\n",
		`kopf_handler_duration_seconds_bucket{handler="create",kind="create",le="120.0"} 4 # {name="one",namespace="ns",uid="uid-2"} 60.0`+"\n",
	)
	if text := scrape(t, m); strings.Contains(text, "uid") {
		t.Errorf("the text format has no exemplars:\n%s", text)
	}
}

func TestMetrics_HandlerIDOfAnyBytes(t *testing.T) {
	m := alone()
	m.Attempt(meter.Attempt{Handler: meter.Handler{ID: "a\xff", Kind: "create"}, Outcome: meter.Failed})
	defer m.Begin([]meter.Handler{{ID: "b\xff", Kind: "create"}}, func() meter.State { return meter.State{} })()
	expectIn(t, scrape(t, m), "handler=\"a\uFFFD\"", "handler=\"b\uFFFD\"")
}

func BenchmarkAttempt(b *testing.B) {
	object := attempt(meter.Succeeded)
	activity := object
	activity.Object = meter.Object{}
	for name, a := range map[string]meter.Attempt{"object": object, "activity": activity} {
		b.Run(name, func(b *testing.B) {
			m := New(Options{})
			for b.Loop() {
				m.Attempt(a)
			}
		})
	}
}
