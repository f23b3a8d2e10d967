package observe

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

func TestInspectedObject_SubHandlersFollowTheirParent(t *testing.T) {
	a := &handlers.Handler{ID: "a", Family: handlers.Create}
	b := &handlers.Handler{ID: "b", Family: handlers.Create}
	in := newInspected(a, b)
	subject := podSubject("x", "1")
	cause := &handlers.Cause{Resource: &pods, Reason: handlers.ReasonCreate}
	in.handle(subject, cause, map[string]handlers.Outcome{"a": {Err: &handlers.ChildrenRetry{}}})
	progress := state.Progress{}.WithHandlers([]string{"a/1", "a/2"}, time.Now())
	Emit(&in.sink, Recorded{Subject: subject, Parent: "a", Progress: progress})
	var ids []string
	for _, h := range in.only(t).Handlers {
		ids = append(ids, h.ID)
	}
	if !slices.Equal(ids, []string{"a", "a/1", "a/2", "b"}) {
		t.Error(ids)
	}
	if h := in.only(t).Handlers[0]; h.Error != nil || h.State != inspect.PhaseRetrying {
		t.Errorf("unfinished sub-handlers are no failure: %+v", h)
	}
	if h := in.only(t).Handlers[1]; h.Kind != "sub" || h.Parent != "a" || h.State != inspect.PhaseNext {
		t.Errorf("%+v", h)
	}
}

func TestInspectedObject_FirstCallsOfSubHandlersAreKept(t *testing.T) {
	a := &handlers.Handler{ID: "a", Family: handlers.Create}
	b := &handlers.Handler{ID: "b", Family: handlers.Create}
	in := newInspected(a, b)
	subject := podSubject("x", "1")
	in.handle(subject, &handlers.Cause{Resource: &pods, Reason: handlers.ReasonCreate}, map[string]handlers.Outcome{"a": {Err: &handlers.ChildrenRetry{}}})
	for _, id := range []string{"a/1", "a/2", "a/1/deep"} { // records come after the calls
		sub := &handlers.Handler{ID: id, Family: handlers.Sub}
		Emit(&in.sink, AttemptStarted{Subject: subject, Handler: sub})
		Emit(&in.sink, AttemptEnded{Subject: subject, Handler: sub, Outcome: handlers.Outcome{Final: true}})
	}
	progress := state.Progress{}.WithHandlers([]string{"a/1", "a/2"}, time.Now())
	Emit(&in.sink, Recorded{Subject: subject, Parent: "a", Progress: progress})
	var got []string
	for _, h := range in.only(t).Handlers {
		got = append(got, fmt.Sprintf("%s of %q: %d", h.ID, h.Parent, len(h.Attempts)))
	}
	want := []string{`a of "": 1`, `a/1 of "a": 1`, `a/1/deep of "a/1": 1`, `a/2 of "a": 1`, `b of "": 0`}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestInspectedHandler_ShowsGrowingDelays(t *testing.T) {
	h := &handlers.Handler{ID: "a", Family: handlers.Create, MaxBackoff: new(10 * time.Minute)}
	in := newInspected(h)
	subject, cause := podSubject("x", "1"), &handlers.Cause{Resource: &pods, Reason: handlers.ReasonCreate}
	in.handle(subject, cause, map[string]handlers.Outcome{"a": {Err: errors.New("boom"), Delay: new(time.Minute)}})
	if got := in.only(t).Handlers[0]; got.MaxDelay != inspect.Duration(10*time.Minute) || got.State != inspect.PhaseRetrying {
		t.Errorf("%+v", got)
	}
}

func TestNextTick_CountsFromEndOrKeepsTheBeat(t *testing.T) {
	ended, interval := time.Unix(100, 0), 10*time.Second
	for name, test := range map[string]struct {
		handler handlers.Handler
		want    time.Time
	}{
		"only when idle": {handlers.Handler{}, time.Time{}},
		"after the end":  {handlers.Handler{Interval: &interval}, ended.Add(interval)},
		"sharp":          {handlers.Handler{Interval: &interval, Sharp: true}, ended.Add(7 * time.Second)},
	} {
		if got := nextTick(&test.handler, ended, 13*time.Second); !got.Equal(test.want) {
			t.Errorf("%s: %s", name, got)
		}
	}
}
