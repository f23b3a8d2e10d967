package inspector

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

func TestRequests_CountedByKind(t *testing.T) {
	h := NewHub(HubOptions{})
	since := time.Unix(1_700_000_000, 0).UTC()
	h.CountRequests(since)
	get := RequestKind{Verb: "get", Code: 200}
	patch := RequestKind{Verb: "patch", Version: "v1", Group: "kopf.dev", Plural: "claims", Subresource: "status", Code: 409}
	now := since.Add(10 * time.Minute)
	h.CountRequest(get, RequestRun{At: since, Took: time.Second})
	for i := range 3 {
		h.CountRequest(patch, RequestRun{
			At: now.Add(-time.Duration(i) * 45 * time.Second), Took: time.Duration(i+1) * time.Millisecond, Repeated: i > 0, Err: errors.New("conflict"),
		})
	}
	address, _ := serve(t, h)
	served, err := dial(t, address).Requests(t.Context())
	if err != nil || len(served.Kinds) != 2 {
		t.Fatalf("%v, %+v", err, served)
	}
	got := h.Requests(now)
	want := inspect.Requests{Since: since, Kinds: []inspect.RequestStats{
		{
			Verb: "patch", Resource: "claims.v1.kopf.dev/status", Code: http.StatusConflict, Count: 3, Repeated: 2, PerMinute: 2,
			P50: inspect.Duration(2 * time.Millisecond), P99: inspect.Duration(3 * time.Millisecond), LastError: "conflict", LastAt: now.Add(-90 * time.Second),
		},
		{Verb: "get", Code: 200, Count: 1, P50: inspect.Duration(time.Second), P99: inspect.Duration(time.Second), LastAt: since},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestRequests_KindsAreLimited(t *testing.T) {
	h := NewHub(HubOptions{})
	for code := range 2 * maxRequestKinds {
		h.CountRequest(RequestKind{Code: code}, RequestRun{})
	}
	if n := len(h.Requests(time.Now()).Kinds); n != maxRequestKinds {
		t.Error(n)
	}
	var none *Hub
	none.CountRequest(RequestKind{}, RequestRun{}) // does nothing
}

func TestRecent_StepsOfTheLastMinutes(t *testing.T) {
	var r recent
	if r.published() != nil {
		t.Error("there are steps before anything has happened")
	}
	start := time.Unix(1_700_000_000, 0)
	for _, at := range []time.Duration{0, time.Second, 25 * time.Second, 5 * time.Second} { // the last one is late
		r.count(start.Add(at), (at/time.Second+1)*time.Second)
	}
	p := r.published()
	if len(p.Runs) != recentSteps || !p.Until.Equal(start.Add(30*time.Second)) {
		t.Fatalf("%+v", p)
	}
	if got := p.Runs[recentSteps-3:]; got[0] != 3 || got[1] != 0 || got[2] != 1 {
		t.Errorf("runs %v", p.Runs)
	}
	if got := p.Took[recentSteps-3:]; got[0] != inspect.Duration(3*time.Second) || got[1] != 0 {
		t.Errorf("took %v", p.Took)
	}
	if n := r.within(start.Add(29*time.Second), 2); n != 1 {
		t.Errorf("%d in the last two steps", n)
	}
	r.count(start.Add(24*time.Hour), time.Second)
	r.count(start, time.Second) // far too late
	p = r.published()
	for i, n := range p.Runs {
		if want := i / (recentSteps - 1); n != want {
			t.Errorf("after a long pause, step %d has %d runs", i, n)
		}
	}
	if n := r.within(start.Add(48*time.Hour), 6); n != 0 {
		t.Errorf("%d runs in the future", n)
	}
}

func TestHub_HandlersHaveRecentRuns(t *testing.T) {
	h := NewHub(HubOptions{})
	h.SetHandlers([]inspect.Handler{{ID: "a"}, {ID: "b"}})
	h.HandlerRan(1, Run{At: time.Unix(1_700_000_000, 0), Took: time.Second})
	handlers := h.Snapshot().Handlers
	if handlers[0].Recent != nil || handlers[1].Recent == nil || handlers[1].Recent.Runs[recentSteps-1] != 1 {
		t.Errorf("%+v", handlers)
	}
}
