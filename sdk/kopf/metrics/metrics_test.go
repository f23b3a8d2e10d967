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

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

func scrape(t *testing.T, m *Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "text/plain; version=0.0.4; charset=utf-8" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	return w.Body.String()
}

func TestMetrics_PrometheusTextFormat(t *testing.T) {
	m := New()
	m.Event("pods.v1", "added")
	m.Event("pods.v1", "added")
	m.Event("pods.v1", "modified")
	m.Cause("pods.v1", "create")
	m.Attempt(observe.MeteredAttempt{Handler: observe.MeteredHandler{ID: "create", Kind: "create"}, Called: true, Outcome: observe.Retried, Took: 20 * time.Millisecond})
	m.Attempt(observe.MeteredAttempt{Handler: observe.MeteredHandler{ID: "create", Kind: "create"}, Called: true, Outcome: observe.Succeeded, Took: time.Hour})
	m.Attempt(observe.MeteredAttempt{Handler: observe.MeteredHandler{ID: "create", Kind: "create"}, Outcome: observe.Failed})
	m.Wait(true, time.Millisecond)
	m.Wait(false, 5*time.Second)
	m.Request("patch", 200, time.Millisecond)
	m.Request("watch", 0, time.Hour)
	m.Restart("pods.v1", "a \"strange\"\\\n reason")
	m.Login(true)
	m.Login(false)
	defer m.Begin([]observe.MeteredHandler{{ID: "tick", Kind: "timer"}}, func() observe.MeterState {
		return observe.MeterState{Objects: 3, Retrying: 1, Queued: 4, Running: 2, Sleeping: 1, Daemons: 5, Timers: 6, Paused: true, Posted: 7, Dropped: 1}
	})()
	want, err := os.ReadFile("testdata/metrics.txt")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), scrape(t, m)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestMetrics_CountsOutliveOperator(t *testing.T) {
	m := New()
	end := m.Begin(nil, func() observe.MeterState { return observe.MeterState{Objects: 1, Posted: 2} })
	defer m.Begin(nil, func() observe.MeterState { return observe.MeterState{Objects: 10, Posted: 20} })()
	for _, want := range []string{"kopf_objects 11\n", `kopf_posted_events_total{result="posted"} 22`} {
		if text := scrape(t, m); !strings.Contains(text, want) {
			t.Errorf("%s is not in\n%s", want, text)
		}
	}
	end()
	for _, want := range []string{"kopf_objects 10\n", `kopf_posted_events_total{result="posted"} 22`} {
		if text := scrape(t, m); !strings.Contains(text, want) {
			t.Errorf("%s is not in\n%s", want, text)
		}
	}
}

func TestMetrics_ConcurrentUse(t *testing.T) {
	m := New()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 1000 {
				m.Attempt(observe.MeteredAttempt{Handler: observe.MeteredHandler{ID: "h", Kind: "timer"}, Called: true, Outcome: observe.Succeeded, Took: time.Second})
			}
		})
	}
	for range 10 {
		m.text()
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

// row is what the documentation tells of a metric.
type row struct {
	kind   string
	labels []string
	values string // of the labels, as they are written
}

func documented(t *testing.T) map[string]row {
	t.Helper()
	page, err := os.ReadFile("../../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]row{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(kopf_\\w+)` \\| (\\w+) \\| (.*?) ?\\|").FindAllStringSubmatch(string(page), -1) {
		r := row{kind: m[2], values: m[3]}
		for _, label := range regexp.MustCompile("(?:^|[,;] )`(resource|type|reason|handler|kind|outcome|state|result|verb|code)`").FindAllStringSubmatch(m[3], -1) {
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
		"kopf_consistency_wait_seconds": {seen, timedOut},
		"kopf_logins_total":             {succeeded, failed},
	}
	for _, outcome := range observe.MeteredOutcomes {
		words["kopf_handler_attempts_total"] = append(words["kopf_handler_attempts_total"], string(outcome))
	}
	for _, reason := range []watch.Reason{
		watch.Closed, watch.Dropped, watch.Silent, watch.ClientTimeout, watch.Expired, watch.Throttled,
		watch.Unauthorized, watch.Forbidden, watch.NotFound, watch.Unavailable, watch.Rejected,
	} {
		words["kopf_watch_restarts_total"] = append(words["kopf_watch_restarts_total"], string(reason))
	}
	for name, all := range words {
		for _, word := range all {
			if !strings.Contains(rows[name].values, "`"+word+"`") {
				t.Errorf("docs/metrics.md does not tell that a label of %s may be %s", name, word)
			}
		}
	}
}

// TestMetrics_NamesPassPromtool has the rules of "promtool check metrics".
func TestMetrics_NamesPassPromtool(t *testing.T) {
	all := regexp.MustCompile(`# HELP (\S+) (.*)\n# TYPE (\S+) (\S+)`).FindAllStringSubmatch(scrape(t, New()), -1)
	if len(all) == 0 {
		t.Fatal("there are none")
	}
	for _, m := range all {
		name, help, kind := m[1], m[2], m[4]
		switch {
		case m[3] != name, help == "", !regexp.MustCompile(`^kopf(_[a-z]+)+$`).MatchString(name):
			t.Errorf("%q is not told as it should be", m[0])
		case (kind == "counter") != strings.HasSuffix(name, "_total"):
			t.Errorf("%s is a %s", name, kind)
		case kind == "histogram" && !strings.HasSuffix(name, "_seconds"):
			t.Errorf("%s has no unit", name)
		case regexp.MustCompile(`_(ms|milliseconds|minutes|counter|gauge|histogram|bucket|sum|count)(_|$)`).MatchString(name):
			t.Errorf("%s has what does not belong into a name", name)
		}
	}
}

func BenchmarkAttempt(b *testing.B) {
	m := New()
	for b.Loop() {
		m.Attempt(observe.MeteredAttempt{Handler: observe.MeteredHandler{ID: "create", Kind: "create"}, Called: true, Outcome: observe.Succeeded, Took: time.Millisecond})
	}
}
