package engine

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
)

// probeTTL is how long the results of probes are reused, because probes can be expensive.
const probeTTL = 10 * time.Second

// readyQuery is the query parameter with which a client also checks whether the operator is ready.
const readyQuery = "ready"

// health is the liveness endpoint. It responds with 200 and the results of the probes, or with 500 if a probe failed
// permanently. While a probe is retried, the response waits. With [readyQuery], it responds with 503 until the operator
// is ready.
type health struct {
	unready    func() error // returns why the operator is not ready; nil if it is ready
	activities *activities
	handlers   []*handlers.Handler
	ctx        context.Context // context of the probes, which continue if a client disconnects
	running    sync.WaitGroup

	mu      sync.Mutex
	results []byte
	since   time.Time
	current *probe // nil if none is running
}

// probe is one round of all probe handlers.
type probe struct {
	done    chan struct{}
	results []byte
	err     error
}

func newHealth(ctx context.Context, a *activities, hs []*handlers.Handler, unready func() error) *health {
	return &health{activities: a, handlers: hs, ctx: ctx, unready: unready}
}

// ServeHTTP implements [http.Handler].
func (h *health) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Has(readyQuery) {
		if err := h.unready(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
	}
	results, err := h.get(r.Context())
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_, _ = w.Write(results) // fails only if the client has disconnected
}

// get returns the results of the probes. It runs the probes unless there are recent results.
func (h *health) get(ctx context.Context) ([]byte, error) {
	h.mu.Lock()
	if h.results != nil && h.activities.deps.Now().Sub(h.since) < probeTTL {
		defer h.mu.Unlock()
		return h.results, nil
	}
	if err := context.Cause(h.ctx); err != nil {
		h.mu.Unlock()
		return nil, err // the stopping operator starts no other probe
	}
	p := h.current
	if p == nil {
		p = &probe{done: make(chan struct{})}
		h.current = p
		h.running.Go(func() { h.run(p) })
	}
	h.mu.Unlock()
	select {
	case <-p.done:
		return p.results, p.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (h *health) run(p *probe) {
	results, err := h.activities.run(h.ctx, handlers.Probe, h.handlers)
	if err == nil {
		p.results, err = json.Marshal(results)
	}
	p.err = err
	h.mu.Lock()
	defer h.mu.Unlock()
	if err == nil {
		h.results, h.since = p.results, h.activities.deps.Now()
	}
	h.current = nil
	close(p.done)
}

// wait waits for a running probe. After the timeout, it abandons a probe that ignores the end of its context.
func (h *health) wait(timeout time.Duration, logger *slog.Logger) {
	h.mu.Lock()   // afterwards, all requested probes have started
	h.mu.Unlock() //nolint:staticcheck // there is nothing else to do
	core.WaitForUsers(&h.running, timeout, func() {
		logger.Warn("A probe ignores that the operator stops; abandoning it", observe.EventKey, observe.LogShutdownAbandoned)
	})
}
