package metrics

import (
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/internal/meter"
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

func TestTheTextIsThatOfPrometheus(t *testing.T) {
	m := New()
	m.Event("pods.v1", "added")
	m.Event("pods.v1", "added")
	m.Event("pods.v1", "modified")
	m.Cause("pods.v1", "create")
	m.Attempt(meter.Attempt{Handler: meter.Handler{ID: "create", Kind: "create"}, Called: true, Outcome: meter.Retried, Took: 20 * time.Millisecond})
	m.Attempt(meter.Attempt{Handler: meter.Handler{ID: "create", Kind: "create"}, Called: true, Outcome: meter.Succeeded, Took: time.Hour})
	m.Attempt(meter.Attempt{Handler: meter.Handler{ID: "create", Kind: "create"}, Outcome: meter.Failed})
	m.Wait(true, time.Millisecond)
	m.Wait(false, 5*time.Second)
	m.Request("patch", 200, time.Millisecond)
	m.Request("watch", 0, time.Hour)
	m.Restart("pods.v1", "a \"strange\"\\\n reason")
	m.Login(true)
	m.Login(false)
	defer m.Begin([]meter.Handler{{ID: "tick", Kind: "timer"}}, func() meter.State {
		return meter.State{Objects: 3, Retrying: 1, Queued: 4, Running: 2, Sleeping: 1, Daemons: 5, Timers: 6, Paused: true, Posted: 7, Dropped: 1}
	})()
	want, err := os.ReadFile("testdata/metrics.txt")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), scrape(t, m)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestWhatAnOperatorHasDoneIsCountedAfterItsEnd(t *testing.T) {
	m := New()
	end := m.Begin(nil, func() meter.State { return meter.State{Objects: 1, Posted: 2} })
	defer m.Begin(nil, func() meter.State { return meter.State{Objects: 10, Posted: 20} })()
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

func TestNothingIsLostWhenManyCountAtOnce(t *testing.T) {
	m := New()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 1000 {
				m.Attempt(meter.Attempt{Handler: meter.Handler{ID: "h", Kind: "timer"}, Called: true, Outcome: meter.Succeeded, Took: time.Second})
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

func TestAllMetricsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`# TYPE (\S+) (\S+)`).FindAllStringSubmatch(scrape(t, New()), -1) {
		if !strings.Contains(string(page), "| `"+m[1]+"` | "+m[2]+" |") {
			t.Errorf("docs/metrics.md does not tell of the %s %s", m[2], m[1])
		}
	}
}

func BenchmarkAttempt(b *testing.B) {
	m := New()
	for b.Loop() {
		m.Attempt(meter.Attempt{Handler: meter.Handler{ID: "create", Kind: "create"}, Called: true, Outcome: meter.Succeeded, Took: time.Millisecond})
	}
}
