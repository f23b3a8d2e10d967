package observe

import (
	"context"
	"log/slog"
	"slices"
)

// Keys of attributes that are not posted: the handler that logs, and the stack of a panic.
const (
	HandlerKey = "handler"
	StackKey   = "stack"
)

// Logger returns a logger that also posts each line as a Kubernetes event. It returns the given
// logger for a nil recorder.
func (r *Recorder) Logger(logger *slog.Logger) *slog.Logger {
	if r == nil {
		return logger
	}
	return slog.New(&recordingHandler{next: logger.Handler(), recorder: r})
}

// wants reports whether lines of a level are posted.
func (r *Recorder) wants(level slog.Level) bool {
	p := r.recorders.ready.Load()
	return p == nil || p.poster != nil && level >= p.level
}

type recordingHandler struct {
	next     slog.Handler
	recorder *Recorder
	attrs    []slog.Attr
	group    string
}

// Enabled implements [slog.Handler].
func (h *recordingHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.recorder.wants(level) || h.next.Enabled(ctx, level)
}

// Handle implements [slog.Handler].
func (h *recordingHandler) Handle(ctx context.Context, record slog.Record) error {
	entry := LogEntryOf(h.qualified(record), h.attrs)
	entry.Attrs = slices.DeleteFunc(entry.Attrs, func(a slog.Attr) bool { return a.Key == HandlerKey || a.Key == StackKey })
	h.recorder.Record(record.Level, eventType(record.Level), logReason, entry.Text())
	if !h.next.Enabled(ctx, record.Level) {
		return nil
	}
	return h.next.Handle(ctx, record)
}

// qualified adds the group's name to the keys of the record's attributes.
func (h *recordingHandler) qualified(record slog.Record) slog.Record {
	if h.group == "" {
		return record
	}
	in := slog.NewRecord(record.Time, record.Level, record.Message, record.PC)
	record.Attrs(func(a slog.Attr) bool {
		a.Key = h.group + a.Key
		in.AddAttrs(a)
		return true
	})
	return in
}

// WithAttrs implements [slog.Handler].
func (h *recordingHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	with := *h
	with.next = h.next.WithAttrs(attrs)
	with.attrs = slices.Clip(h.attrs)
	for _, a := range attrs {
		a.Key = h.group + a.Key
		with.attrs = append(with.attrs, a)
	}
	return &with
}

// WithGroup implements [slog.Handler].
func (h *recordingHandler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	with := *h
	with.next, with.group = h.next.WithGroup(name), h.group+name+"."
	return &with
}
