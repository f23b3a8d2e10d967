package engine

import (
	"context"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/fence"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
)

func TestInvoker_NoFamilyBeginsPastFence(t *testing.T) {
	families := []handlers.Family{handlers.Create, handlers.Update, handlers.Resume, handlers.Event, handlers.Timer, handlers.Daemon}
	for _, family := range families {
		for name, shut := range map[string]func(*fence.Guard){"draining": (*fence.Guard).Drain, "lapsed": (*fence.Guard).Drop} {
			var guard fence.Guard
			shut(&guard)
			called := false
			i := newInvoker(time.Now, &observe.Sink{}, 0)
			a := newTestAttempt(family, func(context.Context) (any, error) { called = true; return nil, nil })
			if _, counts := i.try(fence.With(t.Context(), &guard), a); counts || called {
				t.Errorf("%v, %s: called %t, counts %t", family, name, called, counts)
			}
		}
	}
}

func TestMemory_NewTermDropsWhatIsOlderThanObject(t *testing.T) {
	for _, c := range []struct {
		name, version string
		term          int64
		kept          bool
	}{
		{"same term, newer version", "8", 0, true},
		{"new term, same version", "7", 1, true},
		{"new term, newer version", "8", 1, false},
		{"new term, version without order", "x", 1, false},
	} {
		m := &memory{ledger: ledger{taken: "7"}, handled: &handledStates{}}
		m.outbox.put(writes{})
		m.outbox.park("a", "b")
		m.enterTerm(c.term, object.Stub("v1", "Pod", "ns", "x", "uid", c.version))
		if kept := m.outbox.held != nil; kept != c.kept || (m.handled != nil) != c.kept || (m.outbox.parked != nil) != c.kept {
			t.Errorf("%s: kept is %t", c.name, kept)
		}
	}
}
