package engine

import (
	"context"
	"log/slog"
	"strings"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
)

// teeHandler also passes log records to the inspector.
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
		t.send(level, record)
	}
	if !t.next.Enabled(ctx, record.Level) {
		return nil
	}
	return t.next.Handle(ctx, record)
}

func (t *tee) send(level string, record slog.Record) {
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
