package kopf

import (
	"context"
	"log/slog"
	"strings"
	"sync"

	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/kopf-dev/kopf/sdk/internal/observe"
)

// redirectLibraryLogs redirects the logs of the Kubernetes libraries to the operator's logger. The
// redirection applies to the whole process, so only [Main] does it.
func redirectLibraryLogs(logger *slog.Logger) {
	logger = logger.With(observe.NameKey, "kubernetes")
	handler := logger.With(observe.EventKey, observe.LogLibraryMessage).Handler()
	klog.SetSlogLogger(slog.New(withoutFeatureGates{handler}))
	rest.SetDefaultWarningHandler(&serverWarnings{logger: logger, logged: map[string]bool{}})
}

// withoutFeatureGates drops the debug messages in which client-go lists its feature gates at the start, because they are
// dozens of lines without information about the operator.
type withoutFeatureGates struct{ slog.Handler }

// Handle implements [slog.Handler].
func (h withoutFeatureGates) Handle(ctx context.Context, record slog.Record) error {
	if record.Level < slog.LevelInfo && strings.HasPrefix(record.Message, "Feature gate ") {
		return nil
	}
	return h.Handler.Handle(ctx, record)
}

// WithAttrs implements [slog.Handler].
func (h withoutFeatureGates) WithAttrs(attrs []slog.Attr) slog.Handler {
	return withoutFeatureGates{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements [slog.Handler].
func (h withoutFeatureGates) WithGroup(name string) slog.Handler {
	return withoutFeatureGates{h.Handler.WithGroup(name)}
}

// maxWarnings limits the number of remembered warnings.
const maxWarnings = 256

// serverWarnings logs each distinct warning of the API server once, because the API server
// repeats them with every request.
type serverWarnings struct {
	logger *slog.Logger

	mu     sync.Mutex
	logged map[string]bool
}

// HandleWarningHeader implements [rest.WarningHandler]. Kubernetes only uses the code 299.
func (w *serverWarnings) HandleWarningHeader(code int, _, text string) {
	if code != 299 || text == "" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.logged[text] {
		return
	}
	if len(w.logged) >= maxWarnings {
		clear(w.logged) // repeated warnings are better than unlimited memory
	}
	w.logged[text] = true
	w.logger.Warn(text, observe.EventKey, observe.LogAPIWarning)
}
