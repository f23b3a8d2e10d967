package observe

import (
	"context"
	"log/slog"
	"strings"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/inspector"
)

// InspectorLogHandler returns a handler that also passes records on to a hub. It returns the given handler if the hub is nil.
func InspectorLogHandler(next slog.Handler, hub *inspector.Hub) slog.Handler {
	if hub == nil {
		return next
	}
	return &inspectorLog{next: next, hub: hub}
}

type inspectorLog struct {
	next  slog.Handler
	hub   *inspector.Hub
	attrs []slog.Attr
	group string
}

// Enabled implements [slog.Handler].
func (l *inspectorLog) Enabled(ctx context.Context, level slog.Level) bool {
	return l.next.Enabled(ctx, level) || l.hub.LogEnabled(inspect.LogLevel(Severity(level)))
}

// Handle implements [slog.Handler].
func (l *inspectorLog) Handle(ctx context.Context, record slog.Record) error {
	if level := inspect.LogLevel(Severity(record.Level)); l.hub.LogEnabled(level) {
		l.publish(level, record)
	}
	if !l.next.Enabled(ctx, record.Level) {
		return nil
	}
	return l.next.Handle(ctx, record)
}

func (l *inspectorLog) publish(level inspect.LogLevel, record slog.Record) {
	entry := LogEntryOf(record, l.attrs)
	line := inspect.LogLine{At: record.Time, Level: level}
	attrs := entry.Attrs[:0]
	for _, a := range entry.Attrs {
		if a.Key == HandlerKey {
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
	l.hub.Log(line)
}

// WithAttrs implements [slog.Handler].
func (l *inspectorLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	with := *l
	with.next = l.next.WithAttrs(attrs)
	with.attrs = append(l.attrs[:len(l.attrs):len(l.attrs)], attrs...)
	if l.group != "" {
		for i := len(l.attrs); i < len(with.attrs); i++ {
			with.attrs[i].Key = l.group + with.attrs[i].Key
		}
	}
	return &with
}

// WithGroup implements [slog.Handler].
func (l *inspectorLog) WithGroup(name string) slog.Handler {
	with := *l
	with.next = l.next.WithGroup(name)
	with.group = l.group + name + "."
	return &with
}
