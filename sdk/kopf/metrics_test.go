package kopf

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/kopf/meter"
)

// metricsOfTest implements meter's interface by recording the values.
type metricsOfTest struct {
	meter.None
	attempts []meter.Attempt
	handlers []meter.Handler
	state    meter.State
	ended    bool
}

func (m *metricsOfTest) Attempt(a meter.Attempt) { m.attempts = append(m.attempts, a) }

func (m *metricsOfTest) Begin(handlers []meter.Handler, state func() meter.State) func() {
	m.handlers, m.state = handlers, state()
	return func() { m.ended = true }
}

func TestMetrics_GetWhatTheEngineCounts(t *testing.T) {
	if meterOf(nil) != nil {
		t.Error("no metrics are not nothing for the engine")
	}
	m := &metricsOfTest{}
	adapter := meterOf(m)
	outcomes := map[observe.MeteredOutcome]meter.Outcome{
		observe.Succeeded: meter.Succeeded, observe.Retried: meter.Retried, observe.Failed: meter.Failed,
		observe.Waiting: meter.Waiting, observe.Denied: meter.Denied, observe.Ignored: meter.Ignored, observe.Unfinished: meter.Unfinished,
	}
	for counted, want := range outcomes {
		m.attempts = nil
		adapter.Attempt(observe.MeteredAttempt{
			Handler: observe.MeteredHandler{ID: "a", Kind: "create"}, Outcome: counted, Called: true, Took: time.Second,
			Object: observe.ObjectReference{APIVersion: "v1", Kind: "Pod", Name: "p", UID: "u", Namespace: "ns"},
		})
		attempt := meter.Attempt{
			Handler: meter.Handler{ID: "a", Kind: "create"}, Outcome: want, Called: true, Took: time.Second,
			Object: meter.Object{APIVersion: "v1", Kind: "Pod", Name: "p", UID: "u", Namespace: "ns"},
		}
		if diff := cmp.Diff([]meter.Attempt{attempt}, m.attempts); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	}
	adapter.Begin([]observe.MeteredHandler{{ID: "b", Kind: "timer"}}, func() observe.MeterState {
		return observe.MeterState{Objects: 1, Sleeping: 2, Dropped: 3, Paused: true, Shards: 4, ShardsLost: 5, Leads: true, TimesElected: 6,
			Children: map[string]map[string]int{"pods.v1": {"ready": 7}}}
	})()
	if diff := cmp.Diff([]meter.Handler{{ID: "b", Kind: "timer"}}, m.handlers); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	want := meter.State{Objects: 1, Sleeping: 2, Dropped: 3, Paused: true, Shards: 4, ShardsLost: 5, Leads: true, TimesElected: 6,
		Children: map[string]map[string]int{"pods.v1": {"ready": 7}}}
	if diff := cmp.Diff(want, m.state); diff != "" || !m.ended {
		t.Errorf("(-want +got), ended %t\n%s", m.ended, diff)
	}
}

func TestNoMetrics_CountsNothingWithoutPanic(t *testing.T) {
	m := meterOf(meter.None{})
	m.Event("pods", "added")
	m.Cause("pods", "create")
	m.Attempt(observe.MeteredAttempt{})
	m.Request("GET", 200, time.Second)
	m.Restart("pods", "ended")
	m.Login(true)
	m.Pass("shops", "complete", "child")
	m.Apply("pods", "created")
	m.Prune("pods")
	m.Drift("pods")
	m.Begin(nil, func() observe.MeterState { return observe.MeterState{} })()
	if url, h := m.Endpoint(); url != "" || h != nil {
		t.Errorf("it serves %v at %q", h, url)
	}
}
