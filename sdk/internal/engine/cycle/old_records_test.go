package cycle

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/engine/enginetest"
	"github.com/kopf-dev/kopf/sdk/internal/engine/memory"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

const (
	recordKey = "kopf.zalando.org/one"
	record    = `{"started":"2020-01-01T00:00:00.000000","purpose":"update","retries":1,"success":true,"failure":false}`
)

// handled returns a patch that says which value was handled last, with a record of the handler; nil for none.
func handled(last string, record any, value int) map[string]any {
	values := map[string]any{"kopf.zalando.org/last-handled-configuration": `{"spec":{"f":` + last + `}}`, recordKey: record}
	return map[string]any{"metadata": map[string]any{"annotations": values}, "spec": map[string]any{"f": value}}
}

// onePod runs the cycles of the server's pod with an update handler, and with an event handler that has a patch.
type onePod struct {
	t        *testing.T
	server   *recordServer
	memories *memory.Memories
	queue    *queue.Queue
	ended    chan *queue.Next
}

func newOnePod(t *testing.T, update func() error) *onePod {
	p := &onePod{t: t, server: newRecordServer(t), memories: &memory.Memories{}, ended: make(chan *queue.Next)}
	c := newStepCycle(t, t.Context(), p.server)
	pods := resources.Selector{Core: true, Version: "v1", Name: "pods"}
	c.deps.Registry.Add(&handlers.Handler{ID: "one", Family: handlers.Update, Selector: pods, Invoke: func(context.Context, *handlers.Call) (any, error) {
		return nil, update()
	}})
	c.deps.Registry.Add(&handlers.Handler{ID: "event", Family: handlers.Event, Selector: pods, Invoke: func(_ context.Context, call *handlers.Call) (any, error) {
		call.Patch.Set(object.Path{"metadata", "annotations", "seen"}, "yes")
		return nil, nil
	}})
	c.deps.Settings.Lifecycle, c.deps.Settings.Finalizer = handlers.AllAtOnce, "kopf.dev/marker"
	c.deps.Settings.ErrorDelays = slices.Values([]time.Duration{17 * time.Second})
	processor := NewProcessor(c.deps, p.memories, &memory.DetachedDaemons{Background: t.Context(), Sink: c.deps.Sink}, c.invoker,
		oneResource{served: core.NewServedResource(c.deps.Registry, &enginetest.Pods, true)}, core.NoPasses, core.NoConditions)
	p.queue = queue.New(t.Context(), queue.Options{Process: func(ctx context.Context, batch *queue.Batch) *queue.Next {
		p.ended <- processor.Process(ctx, batch)
		return nil
	}})
	return p
}

// list runs a cycle for a listed version, and returns the cycle's decision.
func (p *onePod) list(version []byte) *queue.Next {
	p.t.Helper()
	obj, err := object.Parse(version, object.ParseOptions{})
	if err != nil {
		p.t.Fatal(err)
	}
	p.queue.Put(enginetest.Pods.Key(), watch.Event{Type: watch.Listed, Object: obj})
	return <-p.ended
}

// stop stops the queue.
func (p *onePod) stop() {
	p.t.Helper()
	if err := p.queue.Stop(); err != nil {
		p.t.Fatal(err)
	}
}

// The process has an old list with a record of an update by another process, which is finished and ends, or is not finished.
func TestProcessor_RecordsOfAnotherProcessAreCompared(t *testing.T) {
	for name, test := range map[string]struct {
		unfinished, newer, unread, absent, uses bool
		again                                   time.Duration // next cycle if no event arrives; 0 for at once
	}{
		"finished":                {uses: true},
		"finished, newer records": {newer: true},
		"finished, unreadable":    {unread: true, again: 17 * time.Second},
		"finished, absent":        {absent: true, again: recordAgain},
		"unfinished":              {unfinished: true, uses: true},
		"unfinished, newer":       {unfinished: true, newer: true},
		"unfinished, unreadable":  {unfinished: true, unread: true, again: 17 * time.Second},
		"unfinished, absent":      {unfinished: true, absent: true, again: recordAgain},
	} {
		t.Run(name, func(t *testing.T) {
			calls := 0
			p := newOnePod(t, func() error { calls++; return nil })
			old := p.server.change(handled("1", record, 1))
			if test.unfinished {
				old = p.server.change(handled("1", strings.ReplaceAll(record, "true", "false"), 2))
			}
			if test.newer {
				p.server.change(handled("1", strings.ReplaceAll(record, "2020", "2021"), 2))
			}
			p.server.unread, p.server.absent = test.unread, test.absent
			next := p.list(old)
			p.stop()
			removed, seen := false, false
			for _, merge := range p.server.patches {
				value, there := object.Annotations(merge)[recordKey]
				removed = removed || there && value == nil
				seen = seen || object.Annotations(merge)["seen"] == "yes"
			}
			if removed != test.uses || (calls > 0) != (test.uses && test.unfinished) || !seen || !test.uses && (next == nil || next.After != test.again) {
				t.Errorf("the record is removed: %t, with %d calls; the patch of the event handler is sent: %t; next: %v; patches: %v",
					removed, calls, seen, next, p.server.patches)
			}
		})
	}
}

// The process leads again, and its list is from before the other leader.
func TestProcessor_OwnRecordsAreComparedInAnotherTerm(t *testing.T) {
	calls := 0
	p := newOnePod(t, func() error { calls++; return enginetest.Later{} })
	p.list(p.server.change(handled("1", nil, 2)))
	old, err := json.Marshal(p.server.tree)
	if err != nil {
		t.Fatal(err)
	}
	p.server.change(handled("2", nil, 3)) // the other leader has finished the update, and another one follows
	p.memories.NewTerm()
	p.list(old)
	p.stop()
	if calls != 1 || object.Annotations(p.server.tree)[recordKey] != nil {
		t.Errorf("%d calls; the object: %v", calls, p.server.tree)
	}
}
