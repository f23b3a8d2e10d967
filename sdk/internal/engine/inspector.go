package engine

import (
	"context"
	"log/slog"
	"strings"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// newHub makes the hub of an operator with an inspector; nil if there is none.
func (o *operator) newHub(intents func(inspect.Intent) inspect.Reply) *inspect.Hub {
	if o.config.Inspector == "" {
		return nil
	}
	return inspect.NewHub(inspect.HubOptions{Intents: intents, Index: o.indexPage})
}

// intent does what a reader of the inspector wishes.
func (o *operator) intent(ctx context.Context, stop context.CancelFunc, in inspect.Intent) inspect.Reply {
	refuse := func(why string) inspect.Reply { return inspect.Reply{Error: why} }
	switch in.Kind {
	case inspect.IntentStop:
		stop()
		return inspect.Reply{OK: true}
	case inspect.IntentPause, inspect.IntentResume:
		o.setPaused(in.Kind == inspect.IntentPause)
		return inspect.Reply{OK: true}
	case inspect.IntentRetry:
		if o.paused.Load() {
			return refuse("the operator is paused")
		}
		if in.Object == nil {
			return refuse("retry: which object?")
		}
		if err := o.retryNow(ctx, *in.Object); err != "" {
			return refuse(err)
		}
		return inspect.Reply{OK: true}
	default:
		return refuse("this operator does not know how to " + string(in.Kind))
	}
}

// setPaused stops the handling of all objects, or continues it. Handlers that run are
// not interrupted.
func (o *operator) setPaused(paused bool) {
	if o.paused.Swap(paused) == paused {
		return
	}
	if paused {
		o.logger.Info("Handling is paused.")
	} else {
		o.logger.Info("Handling is resumed.")
	}
	o.reporter.operator(func(op *inspect.Operator) {
		op.State, op.Reason = inspect.OperatorRunning, ""
		if paused {
			op.State, op.Reason = inspect.OperatorPaused, "on request"
		}
	})
	o.signal()
}

// retryNow makes an object's delayed handlers be attempted at once. It returns why not,
// for a person.
func (o *operator) retryNow(ctx context.Context, ref inspect.Ref) string {
	s := o.ensemble.server(ref.Resource)
	memory := o.memories.find(queue.Key{Resource: ref.Resource, Object: ref.UID})
	if s == nil || memory == nil {
		return ref.Name + " is not known to the operator (any more)"
	}
	object, err := o.newest(ctx, s.resource, ref.Namespace, ref.Name, ref.UID)
	if err != nil {
		return err.Error()
	}
	if object == nil {
		return ref.Name + " is gone, or is not the same object any more"
	}
	memory.hurry.Store(true)
	if group := memory.group.Load(); group != nil {
		group.Hurry()
	}
	o.queue.Again(ref.Resource, watch.Event{Type: watch.Modified, Object: object})
	return ""
}

// teeHandler passes log records on to the inspector too.
func teeHandler(next slog.Handler, hub *inspect.Hub) slog.Handler {
	if hub == nil {
		return next
	}
	return &tee{next: next, hub: hub}
}

type tee struct {
	next  slog.Handler
	hub   *inspect.Hub
	attrs []slog.Attr
	group string
}

func (t *tee) Enabled(ctx context.Context, level slog.Level) bool {
	return t.next.Enabled(ctx, level) || t.hub.LogEnabled(observe.Severity(level))
}

func (t *tee) Handle(ctx context.Context, record slog.Record) error {
	if level := observe.Severity(record.Level); t.hub.LogEnabled(level) {
		t.tell(level, record)
	}
	if !t.next.Enabled(ctx, record.Level) {
		return nil
	}
	return t.next.Handle(ctx, record)
}

func (t *tee) tell(level string, record slog.Record) {
	entry := observe.LogEntryOf(record, t.attrs)
	line := inspect.LogLine{At: record.Time, Level: level}
	attrs := entry.Attrs[:0]
	for _, a := range entry.Attrs {
		if a.Key == handlerKey {
			line.Handler = a.Value.String()
			continue
		}
		attrs = append(attrs, a)
	}
	entry.Attrs = attrs
	line.Message = strings.TrimRight(entry.Text(), "\n")
	if entry.Object != nil {
		line.Object = &inspect.Ref{
			Resource: entry.Object.Resource, Namespace: entry.Object.Namespace, Name: entry.Object.Name, UID: entry.Object.UID,
		}
	}
	t.hub.Log(line)
}

func (t *tee) WithAttrs(attrs []slog.Attr) slog.Handler {
	with := *t
	with.next = t.next.WithAttrs(attrs)
	with.attrs = append(t.attrs[:len(t.attrs):len(t.attrs)], attrs...)
	if t.group != "" {
		for i := len(t.attrs); i < len(with.attrs); i++ {
			with.attrs[i].Key = t.group + with.attrs[i].Key
		}
	}
	return &with
}

func (t *tee) WithGroup(name string) slog.Handler {
	with := *t
	with.next = t.next.WithGroup(name)
	with.group = t.group + name + "."
	return &with
}
