package leaderelection

import (
	"context"
	"log/slog"
)

// debugHandler logs all messages at debug level.
type debugHandler struct{ slog.Handler }

// Enabled implements [slog.Handler].
func (h debugHandler) Enabled(ctx context.Context, _ slog.Level) bool {
	return h.Handler.Enabled(ctx, slog.LevelDebug)
}

// Handle implements [slog.Handler].
func (h debugHandler) Handle(ctx context.Context, record slog.Record) error {
	record.Level = slog.LevelDebug
	return h.Handler.Handle(ctx, record)
}

// WithAttrs implements [slog.Handler].
func (h debugHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return debugHandler{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements [slog.Handler].
func (h debugHandler) WithGroup(name string) slog.Handler {
	return debugHandler{h.Handler.WithGroup(name)}
}
