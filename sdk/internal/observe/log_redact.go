package observe

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/kopf-dev/kopf/sdk/internal/redact"
)

// WithoutSecrets returns a logger that hides secret values of an object in all its lines. It returns the given logger if there
// is nothing to hide.
func WithoutSecrets(logger *slog.Logger, secrets *redact.Secrets) *slog.Logger {
	if secrets == nil {
		return logger
	}
	return slog.New(&redacting{to: logger.Handler(), secrets: secrets})
}

type redacting struct {
	to      slog.Handler
	secrets *redact.Secrets
}

// Enabled implements [slog.Handler].
func (h *redacting) Enabled(ctx context.Context, level slog.Level) bool {
	return h.to.Enabled(ctx, level)
}

// Handle implements [slog.Handler].
func (h *redacting) Handle(ctx context.Context, record slog.Record) error {
	clean := slog.NewRecord(record.Time, record.Level, h.secrets.Text(record.Message), record.PC)
	record.Attrs(func(a slog.Attr) bool {
		clean.AddAttrs(h.attr(a))
		return true
	})
	return h.to.Handle(ctx, clean)
}

// WithAttrs implements [slog.Handler].
func (h *redacting) WithAttrs(attrs []slog.Attr) slog.Handler {
	clean := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		clean[i] = h.attr(a)
	}
	return &redacting{to: h.to.WithAttrs(clean), secrets: h.secrets}
}

// WithGroup implements [slog.Handler].
func (h *redacting) WithGroup(name string) slog.Handler {
	return &redacting{to: h.to.WithGroup(name), secrets: h.secrets}
}

// attr returns an attribute without hidden values. If it contains a hidden value, the result is a string.
func (h *redacting) attr(a slog.Attr) slog.Attr {
	switch a.Value.Any().(type) {
	case ObjectRef, LogName:
		return a
	}
	a.Value = a.Value.Resolve()
	switch a.Value.Kind() {
	case slog.KindGroup:
		members := a.Value.Group()
		clean := make([]slog.Attr, len(members))
		for i, member := range members {
			clean[i] = h.attr(member)
		}
		a.Value = slog.GroupValue(clean...)
	case slog.KindAny:
		for _, text := range []string{a.Value.String(), fmt.Sprintf("%+v", plain(a.Value))} {
			if clean := h.secrets.Text(text); clean != text {
				return slog.String(a.Key, clean)
			}
		}
	case slog.KindString, slog.KindInt64, slog.KindUint64, slog.KindFloat64:
		if text := a.Value.String(); h.secrets.Text(text) != text {
			a.Value = slog.StringValue(h.secrets.Text(text))
		}
	}
	return a
}
