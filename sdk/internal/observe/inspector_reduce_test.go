package observe

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/state"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

func TestShown_EventsLeaveFormerStatesAsTheyWere(t *testing.T) {
	create, update := &handlers.Handler{ID: "c", Family: handlers.Create}, &handlers.Handler{ID: "u", Family: handlers.Update}
	event, timer, indexes := &handlers.Handler{ID: "e", Family: handlers.Event}, &handlers.Handler{ID: "t", Family: handlers.Timer}, indexing("x")
	set := newInspected(create, update, event, timer, indexes).handlers()
	subject := podSubject("a", "1")
	failed, now, identity := errors.New("not yet"), time.Now(), subject.Identity
	mark, _ := errors.AsType[*state.BrokenMark](func() error {
		_, err := state.NewSmartProgress().Fetch(map[string]any{"metadata": map[string]any{"annotations": map[string]any{"kopf.zalando.org/c": "{"}}}, "c")
		return err
	}())
	planned := func(reason handlers.Reason) Planned {
		return Planned{
			Subject: subject, Cause: &handlers.Cause{Resource: &pods, Reason: reason}, Handlers: set, Changing: true, At: now,
			Orphans: []state.Orphan{{ID: "old", Record: state.Record{Retries: 2}}},
		}
	}
	retried := AttemptEnded{Subject: subject, Handler: create, Outcome: handlers.Outcome{Err: failed}, Err: failed}
	subs := state.Progress{}.WithHandlers([]string{"c/1", "c/2"}, now)
	deleted := podObject("a", "2")
	deleted.Deleting = true

	var o shown
	var states []shown
	var texts []string
	for _, e := range []Event{
		ObjectIndexed{Subject: subject, Decisions: []handlers.Decision{{Handler: indexes, Selected: true}}},
		EventDispatched{Subject: subject, Cause: &handlers.Cause{Resource: &pods, Object: subject.Object}, Handlers: set},
		AttemptStarted{Subject: subject, Handler: event},
		AttemptEnded{Subject: subject, Handler: event, Outcome: handlers.Outcome{Final: true}},
		planned(handlers.ReasonCreate), MarkBroken{Subject: subject, Mark: mark}, MarkBroken{Subject: subject, Mark: mark},
		AttemptStarted{Subject: subject, Handler: create}, retried, retried, retried,
		ChildrenChanged{Pass: passOf("a", "created")}, ChildrenChanged{}, ChildrenChanged{Pass: passOf("a", "reverted", "b", "refused")},
		AttemptStarted{Subject: subject, Handler: timer},
		Recorded{Subject: subject, Parent: "c", Progress: subs},
		Recorded{Subject: subject, Progress: state.Progress{}.WithHandlers([]string{"c"}, now)},
		Sent{Subject: subject, Handlers: []string{"c"}, Since: now, At: now, Err: failed}, Sent{Subject: subject, Handlers: []string{"c"}, Since: now, At: now},
		PatchPending{Subject: subject, Since: now}, PatchPending{Subject: subject},
		Ended{Subject: subject, At: now, Err: failed}, Ended{Subject: subject, At: now, Finished: true},
		planned(handlers.ReasonUpdate),
		AttemptEnded{Subject: subject, Handler: indexes, Outcome: handlers.Outcome{Final: true}},
		BackgroundStopped{Identity: identity, Handlers: []*handlers.Handler{timer}},
		EventReceived{resources.Scope{Resource: pods.Key()}, watch.Event{Type: watch.Modified, Object: deleted}},
		Planned{Subject: subject, Paused: true}, nil,
	} {
		o, _ = o.after(e, now)
		text, err := json.Marshal(o.Object)
		if err != nil {
			t.Fatal(err)
		}
		states, texts = append(states, o), append(texts, string(text))
		if n := len(o.Handlers); len(texts) > 4 && (o.Handlers[n-1].ID != "old" || o.Handlers[n-1].State != inspect.PhaseUnknown) {
			t.Errorf("after %T, the unknown handler is not the last one: %+v", e, o.Handlers)
		}
	}
	for i, before := range states {
		if text, err := json.Marshal(before.Object); err != nil || string(text) != texts[i] {
			t.Errorf("state %d has changed (%v):\n%s\n%s", i, err, text, texts[i])
		}
	}
}
