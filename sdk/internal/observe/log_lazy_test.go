package observe

import (
	"bytes"
	"log/slog"
	"testing"
)

func TestWithLazyAttrs_MadeOnceForTheFirstLine(t *testing.T) {
	var out bytes.Buffer
	made := 0
	logger := slog.New(WithLazyAttrs(NewLogHandler(&out, LogOptions{Format: LogPlain, Prefix: true}), func() []slog.Attr {
		made++
		return []slog.Attr{slog.Any(ObjectKey, ObjectRef{Namespace: "ns", Name: "x"}), slog.Int("n", made)}
	}))
	handler := logger.With("handler", "fn")
	grouped := handler.WithGroup("g")
	logger.Debug("below the level")
	handler.Info("first")
	logger.Info("second", "a", 1)
	grouped.Info("third", "b", 2)
	const want = "[ns/x] first n=1 handler=fn\n[ns/x] second n=1 a=1\n[ns/x] third n=1 handler=fn g.b=2\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
	if made != 1 {
		t.Errorf("they were made %d times", made)
	}
}

func TestWithLazyAttrs_NotMadeForLinesBelowLevel(t *testing.T) {
	var out bytes.Buffer
	logger := slog.New(WithLazyAttrs(NewLogHandler(&out, LogOptions{}), func() []slog.Attr {
		t.Error("they were made")
		return nil
	}))
	logger.Debug("a")
}
