package engine

import (
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

	"github.com/kopf-dev/kopf/sdk/internal/observe"
)

// ErrEndpoint is in the error of an operator that is to serve something at an address that
// makes no sense.
var ErrEndpoint = errors.New("want an endpoint such as http://0.0.0.0:8080/healthz")

// endpoints are what the operator serves over HTTP: paths by addresses. What has the same
// address shares a port.
type endpoints map[string]map[string]http.Handler

// add adds a handler by its URL. An empty one is none.
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
	host, port, path := u.Hostname(), u.Port(), u.Path
	if host == "" {
		host = "localhost"
	}
	if port == "" {
		port = "80"
	}
	if path == "" {
		path = "/"
	}
	address := net.JoinHostPort(host, port)
	if e[address] == nil {
		e[address] = map[string]http.Handler{}
	}
	if e[address][path] != nil {
		return fmt.Errorf("%w: %s is there twice", ErrEndpoint, endpoint)
	}
	e[address][path] = h
	return nil
}

// isPort tells whether a URL may have the port; it may have none.
func isPort(port string) bool {
	_, err := strconv.ParseUint(port, 10, 16)
	return port == "" || err == nil
}

// CheckEndpoint tells whether a URL makes sense as one to serve something at. An empty one does.
func CheckEndpoint(endpoint string) error { return endpoints{}.add(endpoint, nil) }

// serve listens at all addresses, and serves until the returned function is called.
func (e endpoints) serve(ctx context.Context, logger *slog.Logger) (stop func(), err error) {
	logger = logger.With(observe.NameKey, "kopf.endpoints")
	var servers []*http.Server
	var wg sync.WaitGroup
	stop = func() {
		for _, s := range servers {
			// Whoever waits for an answer now waits for nothing.
			if err := s.Close(); err != nil {
				logger.Debug("An endpoint is not closed in order.", "error", err)
			}
		}
		wg.Wait()
	}
	for address, paths := range sorted(e) {
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
		if err != nil {
			stop()
			if errors.Is(err, syscall.EADDRINUSE) {
				err = fmt.Errorf("%w: choose another port", err)
			}
			return nil, fmt.Errorf("serving http://%s: %w", address, err)
		}
		server := &http.Server{
			Handler: pathsHandler(paths), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute,
			BaseContext: func(net.Listener) context.Context { return ctx },
			ErrorLog:    slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
		}
		servers = append(servers, server)
		wg.Go(func() {
			if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
				logger.Error("An endpoint is not served any more.", "address", address, "error", err)
			}
		})
		for path := range sorted(paths) {
			logger.Debug("Serving http://" + listener.Addr().String() + path)
		}
	}
	return stop, nil
}

type pathsHandler map[string]http.Handler

// ServeHTTP implements [http.Handler] for those who read.
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

// serveEndpoints serves what the settings ask for, until the returned function is called.
func (o *operator) serveEndpoints(ctx context.Context) (stop func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	probes := &health{operator: o, ctx: ctx}
	all := endpoints{}
	if err := all.add(o.settings.Liveness, probes); err != nil {
		cancel()
		return nil, fmt.Errorf("liveness: %w", err)
	}
	if o.settings.Meter != nil {
		if err := all.add(o.settings.Meter.Endpoint()); err != nil {
			cancel()
			return nil, fmt.Errorf("metrics: %w", err)
		}
	}
	hangUp, err := all.serve(ctx, o.logger)
	if err != nil {
		cancel()
		return nil, err
	}
	return func() {
		cancel()
		hangUp()
		probes.wait()
	}, nil
}
