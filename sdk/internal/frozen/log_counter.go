package frozen

import (
	"context"
	"log/slog"
	"sync/atomic"
)

// LogCounter is a log handler that counts the messages that contain one of the texts.
type LogCounter struct {
	slog.Handler
	texts []string
	n     *atomic.Int64
}

// NewLogCounter returns a counter in front of another handler.
func NewLogCounter(next slog.Handler, texts ...string) LogCounter {
	return LogCounter{next, texts, new(atomic.Int64)}
}

// Count returns the number of such messages so far.
func (c LogCounter) Count() int64 { return c.n.Load() }

// Handle implements [slog.Handler].
func (c LogCounter) Handle(ctx context.Context, r slog.Record) error {
	if containsAny(r.Message, c.texts) {
		c.n.Add(1)
	}
	return c.Handler.Handle(ctx, r)
}

// WithAttrs implements [slog.Handler].
func (c LogCounter) WithAttrs(a []slog.Attr) slog.Handler {
	c.Handler = c.Handler.WithAttrs(a)
	return c
}

// WithGroup implements [slog.Handler].
func (c LogCounter) WithGroup(name string) slog.Handler {
	c.Handler = c.Handler.WithGroup(name)
	return c
}
