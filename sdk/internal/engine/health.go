package engine

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
)

// probesAge is how long the results of probes are good for: many may ask, and probes may be
// expensive.
const probesAge = 10 * time.Second

// health answers how the operator is: 200 and what the probes returned, or 500 if one of
// them has failed for good. A probe that is to be tried again keeps the asker waiting, as
// long as he likes.
type health struct {
	*operator
	ctx   context.Context // of the probes: they go on for others if one asker gives up
	going beside

	mu      sync.Mutex
	results []byte
	since   time.Time
	probing *probing // nil if none goes on
}

type probing struct {
	done    chan struct{}
	results []byte
	err     error
}

// ServeHTTP implements [http.Handler].
func (h *health) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	results, err := h.ask(r.Context())
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_, _ = w.Write(results) // whoever has gone away does not care
}

// ask returns results that are not too old.
func (h *health) ask(ctx context.Context) ([]byte, error) {
	h.mu.Lock()
	if h.results != nil && h.now().Sub(h.since) < probesAge {
		defer h.mu.Unlock()
		return h.results, nil
	}
	if err := context.Cause(h.ctx); err != nil {
		h.mu.Unlock()
		return nil, err // the operator stops, and nobody waits for another probe
	}
	p := h.probing
	if p == nil {
		p = &probing{done: make(chan struct{})}
		h.probing = p
		h.going.Go(func() { h.probe(p) })
	}
	h.mu.Unlock()
	select {
	case <-p.done:
		return p.results, p.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (h *health) probe(p *probing) {
	found, err := h.perform(h.ctx, handlers.Probe, h.config.Registry.Activities(handlers.Probe))
	if err == nil {
		p.results, err = json.Marshal(found)
	}
	p.err = err
	h.mu.Lock()
	defer h.mu.Unlock()
	if err == nil {
		h.results, h.since = p.results, h.now()
	}
	h.probing = nil
	close(p.done)
}

// wait waits for a probe that goes on, unless it ignores for too long that its context has
// ended.
func (h *health) wait() {
	h.mu.Lock()   // who has asked in time has begun
	h.mu.Unlock() //nolint:staticcheck // there is nothing else to do
	h.going.wait(h.settings.ExitTimeout, func() {
		h.logger.Warn("A probe ignores that the operator stops: it is left alone.")
	})
}
