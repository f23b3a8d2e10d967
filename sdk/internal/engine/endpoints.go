package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
)

// ErrEndpoint is wrapped by the error for an invalid URL of an endpoint.
var ErrEndpoint = errors.New("want an endpoint such as http://0.0.0.0:8080/healthz")

// endpoints are the HTTP handlers of the operator by address and path. Endpoints with the same address share a port.
type endpoints map[string]paths

// add adds a handler at a URL. It does nothing if the URL is empty.
func (e endpoints) add(endpoint string, h http.Handler) error {
	if endpoint == "" {
		return nil
	}
	u, err := url.Parse(endpoint)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrEndpoint, err)
	}
	port := cmp.Or(u.Port(), "80")
	_, err = strconv.ParseUint(port, 10, 16)
	if err != nil || u.Scheme != "http" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return fmt.Errorf("%w: got %s", ErrEndpoint, endpoint)
	}
	address, path := net.JoinHostPort(cmp.Or(u.Hostname(), "localhost"), port), cmp.Or(u.Path, "/")
	if e[address] == nil {
		e[address] = paths{}
	}
	if e[address][path] != nil {
		return fmt.Errorf("%w: %s is used twice", ErrEndpoint, endpoint)
	}
	e[address][path] = h
	return nil
}

// CheckEndpoint returns an error if the URL of an endpoint is invalid. An empty URL is valid.
func CheckEndpoint(endpoint string) error { return endpoints{}.add(endpoint, nil) }

// serve listens on all addresses, and serves until the context ends.
func (e endpoints) serve(ctx context.Context, serving *sync.WaitGroup, logger *slog.Logger) error {
	logger = logger.With(observe.NameKey, "kopf.endpoints")
	for _, address := range object.SortedKeys(e) {
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
		if errors.Is(err, syscall.EADDRINUSE) {
			err = fmt.Errorf("%w: choose another port", err)
		}
		if err != nil {
			return fmt.Errorf("serve http://%s: %w", address, err)
		}
		server := &http.Server{
			Handler: e[address], ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute,
			BaseContext: func(net.Listener) context.Context { return ctx },
			ErrorLog:    slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
		}
		serving.Go(func() {
			if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
				logger.Error("Cannot serve an endpoint; restart the operator",
					observe.EventKey, observe.LogEndpointFailed, "address", address, "error", err)
			}
		})
		serving.Go(func() {
			<-ctx.Done()
			if err := server.Close(); err != nil { // it does not wait for clients that still expect a response
				logger.Debug("Cannot close an endpoint", observe.EventKey, observe.LogEndpointFailed, "error", err)
			}
		})
		for _, path := range object.SortedKeys(e[address]) {
			logger.Debug("Serving http://"+listener.Addr().String()+path, observe.EventKey, observe.LogEndpointServed)
		}
	}
	return nil
}

// paths serves GET requests by their exact paths.
type paths map[string]http.Handler

// ServeHTTP implements [http.Handler].
func (p paths) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := p[r.URL.Path]
	switch {
	case h == nil:
		http.NotFound(w, r)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "only GET is allowed", http.StatusMethodNotAllowed)
	default:
		h.ServeHTTP(w, r)
	}
}

const (
	probeTTL   = 10 * time.Second // time for which the results of probes are reused, because probes can be expensive
	readyQuery = "ready"          // query parameter with which a client also checks whether the operator is ready
)

// health is the liveness endpoint. It responds with 200 and the results of the probes, or with 500 if a probe failed permanently; it
// waits while a probe is retried. With [readyQuery], it responds with 503 until the operator is ready.
type health struct {
	operator *operator
	ctx      context.Context // context of the probes, which continue if a client disconnects
	running  sync.WaitGroup

	mu   sync.Mutex
	last *probe // nil before the first one
}

// probe is one round of all probe handlers. The other fields are set when done is closed.
type probe struct {
	done    chan struct{}
	results []byte
	err     error
	ended   time.Time
}

// ServeHTTP implements [http.Handler].
func (h *health) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Has(readyQuery) {
		if err := h.operator.unready(); err != nil {
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
	if h.last == nil || h.last.outdated(h.operator.deps.Now()) {
		if err := context.Cause(h.ctx); err != nil {
			h.mu.Unlock()
			return nil, err // the stopping operator starts no other probe
		}
		h.last = &probe{done: make(chan struct{})}
		p := h.last
		h.running.Go(func() { h.run(p) })
	}
	p := h.last
	h.mu.Unlock()
	select {
	case <-p.done:
		return p.results, p.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// outdated reports whether the probe has failed, or ended long ago.
func (p *probe) outdated(now time.Time) bool {
	select {
	case <-p.done:
		return p.err != nil || now.Sub(p.ended) >= probeTTL
	default:
		return false
	}
}

func (h *health) run(p *probe) {
	defer close(p.done)
	results, err := h.operator.runActivity(h.ctx, handlers.Probe, h.operator.config.Registry.Activities(handlers.Probe))
	if err == nil {
		p.results, err = json.Marshal(results)
	}
	p.err, p.ended = err, h.operator.deps.Now()
}

// wait waits for a running probe. After the exit timeout, it abandons a probe that ignores the end of its context.
func (h *health) wait() {
	h.mu.Lock()   // afterwards, all requested probes have started
	h.mu.Unlock() //nolint:staticcheck // there is nothing else to do
	core.WaitForUsers(&h.running, h.operator.deps.Settings.ExitTimeout, func() {
		h.operator.deps.Logger.Warn("A probe ignores that the operator stops; abandoning it", observe.EventKey, observe.LogShutdownAbandoned)
	})
}
