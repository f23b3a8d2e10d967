package kopf

import (
	"log/slog"
	"sync"

	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/kopf-dev/kopf/sdk/internal/observe"
)

// adoptLibraries makes the libraries for Kubernetes log where the operator does. There is
// only one place for the whole process, so it is for programs of [Main] alone.
func adoptLibraries(logger *slog.Logger) {
	logger = logger.With(observe.NameKey, "kubernetes")
	klog.SetSlogLogger(logger)
	rest.SetDefaultWarningHandler(&serverWarnings{logger: logger, told: map[string]bool{}})
}

// maxTold bounds what is remembered of the server's warnings.
const maxTold = 256

// serverWarnings log what the server warns clients of handlers about, each text once: the
// server repeats itself with every request.
type serverWarnings struct {
	logger *slog.Logger

	mu   sync.Mutex
	told map[string]bool
}

// HandleWarningHeader implements [rest.WarningHandler]. The API has the code 299 alone.
func (w *serverWarnings) HandleWarningHeader(code int, _, text string) {
	if code != 299 || text == "" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.told[text] {
		return
	}
	if len(w.told) >= maxTold {
		clear(w.told) // better twice than never
	}
	w.told[text] = true
	w.logger.Warn(text)
}
