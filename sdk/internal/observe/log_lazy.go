package observe

import (
	"context"
	"log/slog"
	"sync"
)

// WithLazyAttrs returns a handler whose attributes are created at the first logged line, because most objects have no log
// lines.
func WithLazyAttrs(to slog.Handler, attrs func() []slog.Attr) slog.Handler {
	return &lazy{to: to, attrs: attrs}
}

type lazy struct {
	to     slog.Handler
	parent *lazy // logger whose attributes come first; nil if there is none
	attrs  func() []slog.Attr

	once sync.Once
	with slog.Handler
}

func (l *lazy) handler() slog.Handler {
	l.once.Do(func() {
		to := l.to
		if l.parent != nil {
			to = l.parent.handler()
		}
		l.with = to.WithAttrs(l.attrs())
	})
	return l.with
}

// Enabled implements [slog.Handler].
func (l *lazy) Enabled(ctx context.Context, level slog.Level) bool { return l.to.Enabled(ctx, level) }

// Handle implements [slog.Handler].
func (l *lazy) Handle(ctx context.Context, record slog.Record) error {
	return l.handler().Handle(ctx, record)
}

// WithAttrs implements [slog.Handler]. The attributes of the handler are not made either: most handlers
// and daemons log nothing.
func (l *lazy) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &lazy{to: l.to, parent: l, attrs: func() []slog.Attr { return attrs }}
}

// WithGroup implements [slog.Handler].
func (l *lazy) WithGroup(name string) slog.Handler { return l.handler().WithGroup(name) }
