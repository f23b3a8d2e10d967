package engine

import (
	"cmp"
	"context"
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

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
)

// ErrEndpoint is wrapped by the error for an invalid URL of an endpoint.
var ErrEndpoint = errors.New("want an endpoint such as http://0.0.0.0:8080/healthz")

// endpoints are the HTTP handlers of the operator by address and path. Endpoints with the same address share a port.
type endpoints map[string]map[string]http.Handler

// add adds a handler at a URL. It does nothing if the URL is empty.
func (e endpoints) add(endpoint string, h http.Handler) error {
	if endpoint == "" {
		return nil
	}
	u, err := url.Parse(endpoint)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", ErrEndpoint, err)
	case u.Scheme != "http" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || !isPort(u.Port()):
		return fmt.Errorf("%w: got %s", ErrEndpoint, endpoint)
	}
	address, path := net.JoinHostPort(cmp.Or(u.Hostname(), "localhost"), cmp.Or(u.Port(), "80")), cmp.Or(u.Path, "/")
	if e[address] == nil {
		e[address] = map[string]http.Handler{}
	}
	if e[address][path] != nil {
		return fmt.Errorf("%w: %s is used twice", ErrEndpoint, endpoint)
	}
	e[address][path] = h
	return nil
}

// isPort reports whether a port is valid in a URL. An empty port is valid.
func isPort(port string) bool {
	_, err := strconv.ParseUint(port, 10, 16)
	return port == "" || err == nil
}

// CheckEndpoint returns an error if the URL of an endpoint is invalid. An empty URL is valid.
func CheckEndpoint(endpoint string) error { return endpoints{}.add(endpoint, nil) }

// serve listens on all addresses, and serves until stop is called.
func (e endpoints) serve(ctx context.Context, logger *slog.Logger) (stop func(), err error) {
	logger = logger.With(observe.NameKey, "kopf.endpoints")
	var servers []*http.Server
	var wg sync.WaitGroup
	stop = func() {
		for _, s := range servers {
			// Close does not wait for clients that still expect a response.
			if err := s.Close(); err != nil {
				logger.Debug("Cannot close an endpoint", observe.EventKey, observe.LogEndpointFailed, "error", err)
			}
		}
		wg.Wait()
	}
	for _, address := range object.SortedKeys(e) {
		paths := e[address]
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
		if err != nil {
			stop()
			if errors.Is(err, syscall.EADDRINUSE) {
				err = fmt.Errorf("%w: choose another port", err)
			}
			return nil, fmt.Errorf("serve http://%s: %w", address, err)
		}
		server := &http.Server{
			Handler: pathsHandler(paths), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute,
			BaseContext: func(net.Listener) context.Context { return ctx },
			ErrorLog:    slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
		}
		servers = append(servers, server)
		wg.Go(func() {
			if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
				logger.Error("Cannot serve an endpoint; restart the operator",
					observe.EventKey, observe.LogEndpointFailed, "address", address, "error", err)
			}
		})
		for _, path := range object.SortedKeys(paths) {
			logger.Debug("Serving http://"+listener.Addr().String()+path, observe.EventKey, observe.LogEndpointServed)
		}
	}
	return stop, nil
}

// pathsHandler serves GET requests by their exact paths.
type pathsHandler map[string]http.Handler

// ServeHTTP implements [http.Handler].
func (p pathsHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
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
