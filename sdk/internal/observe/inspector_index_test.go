package observe

import (
	"errors"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/index"
	"github.com/kopf-dev/kopf/sdk/internal/inspector"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

func indexing(id string) *handlers.Handler {
	return &handlers.Handler{
		ID: id, Family: handlers.Index, NewIndex: func() index.Container { return index.New[string, string]() },
	}
}

func TestInspectedObject_IndexedShownOnceTheObjectIsProcessed(t *testing.T) {
	byName := indexing("x")
	in := newInspected(byName)
	subject := podSubject("a", "1")
	selected := []handlers.Decision{{Handler: byName, Selected: true}}
	until := time.Now().Add(time.Minute)
	failed := errors.New("not yet")
	Emit(&in.sink, AttemptStarted{Subject: subject, Handler: byName})
	Emit(&in.sink, AttemptEnded{Subject: subject, Handler: byName, Outcome: handlers.Outcome{Err: failed}, Err: failed})
	Emit(&in.sink, ObjectIndexed{Subject: subject, Decisions: selected, Failures: map[string]IndexFailure{"x": {Until: until}}})
	if o := in.only(t); o != nil {
		t.Errorf("shown before it is processed: %+v", o)
	}
	Emit(&in.sink, Planned{Subject: subject})
	shown := func() inspect.HandlerState {
		t.Helper()
		o := in.only(t)
		if o == nil || len(o.Handlers) != 1 || o.State != inspect.StateSettled {
			t.Fatalf("%+v", o)
		}
		return o.Handlers[0]
	}
	if h := shown(); h.State != inspect.PhaseRetrying || !h.Next.Equal(until) || h.Attempt != 1 || h.Error == nil {
		t.Errorf("%+v", h)
	}
	Emit(&in.sink, AttemptEnded{Subject: subject, Handler: byName, Retries: 1, Outcome: handlers.Outcome{Final: true}})
	Emit(&in.sink, ObjectIndexed{Subject: subject, Decisions: selected})
	if h := shown(); h.State != inspect.PhaseDone || h.Attempt != 2 || len(h.Attempts) != 2 || h.Error != nil {
		t.Errorf("%+v", h)
	}
	Emit(&in.sink, ObjectIndexed{Subject: subject, Decisions: []handlers.Decision{{Handler: byName}}})
	if o := in.only(t); o.State != inspect.StateIgnored || o.Handlers[0].State != inspect.PhaseFiltered || o.Handlers[0].Why == nil {
		t.Errorf("%+v", o)
	}
}

func TestInspectedObject_IndexMayShareTheIDOfAHandler(t *testing.T) {
	both := []*handlers.Handler{indexing("x"), {ID: "x", Family: handlers.Event}}
	in := newInspected(both...)
	subject := podSubject("a", "1")
	Emit(&in.sink, ObjectIndexed{Subject: subject, Decisions: []handlers.Decision{{Handler: both[0], Selected: true}}})
	Emit(&in.sink, EventDispatched{Subject: subject, Cause: &handlers.Cause{Resource: &pods, Object: subject.Object}, Handlers: in.handlers()})
	Emit(&in.sink, AttemptStarted{Subject: subject, Handler: both[1]})
	if hs := in.only(t).Handlers; len(hs) != 2 || hs[0].State != inspect.PhaseDone || hs[1].State != inspect.PhaseRunning {
		t.Errorf("%+v", hs)
	}
}

func TestInspector_SizesAndResourcesOfIndices(t *testing.T) {
	in := newInspected(indexing("x"))
	Emit(&in.sink, ResourcesServed{Resolution: &resources.Resolution{Served: []resources.Resource{pods}}})
	in.indices.Find("x").Replace(index.Object{ID: "a"}, map[string]string{"k": "v"})
	Emit(&in.sink, IndexChanged{[]string{"x"}})
	shown := in.hub.Snapshot().Indices[0]
	if shown.Keys != 1 || shown.Values != 1 || shown.Objects != 1 || len(shown.Resources) != 1 || shown.Resources[0] != pods.Key() {
		t.Errorf("%+v", shown)
	}
	in.indices.Find("x").Discard(index.Object{ID: "a"})
	Emit(&in.sink, IndexChanged{[]string{"x"}})
	if shown := in.hub.Snapshot().Indices[0]; shown.Keys != 0 || shown.Values != 0 || shown.Objects != 0 {
		t.Errorf("%+v", shown)
	}
}

func TestIndexPage_SearchesWhatIsShown(t *testing.T) {
	x := index.New[string, string]()
	var all index.Indices
	all.Ensure("x", func() index.Container { return x })
	x.Replace(index.Object{ID: "1"}, map[string]string{"Web": "hunter2", "db": "letmein"})
	for search, want := range map[string][2]int{"": {2, 2}, "HUNTER": {1, 0}, "web hunt": {1, 0}, "web": {1, 1}, "web letmein": {0, 0}} {
		for i, hidden := range []bool{false, true} {
			page, found := IndexPage(&all, inspector.IndexQuery{ID: "x", Search: search, Limit: 10}, hidden)
			if !found || page.Total != want[i] || len(page.Entries) != want[i] {
				t.Errorf("%q, hidden %v: %+v", search, hidden, page)
			}
		}
	}
}
