package inspector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// flushTimeout limits the time in which readers receive the last batch.
const flushTimeout = 500 * time.Millisecond

// Serve serves the hub at an address, "unix:PATH" or "tcp:127.0.0.1:PORT", until the context ends. Then it sends the
// readers the remaining changes, and returns nil. It returns an [*inspect.AddressError] for an invalid address.
func Serve(ctx context.Context, address string, hub *Hub) error {
	listener, err := listen(ctx, address)
	if err != nil {
		return err
	}
	return serveOn(ctx, listener, hub)
}

// serveOn serves the hub on a listener, and closes it.
func serveOn(ctx context.Context, listener net.Listener, hub *Hub) error {
	token, err := newToken(listener)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	defer token.remove()
	streams, stopStreams := context.WithCancel(context.WithoutCancel(ctx))
	defer stopStreams()
	server := &http.Server{
		Handler:           protocol(hub, token),
		ReadHeaderTimeout: 10 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return streams },
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()

	select {
	case err := <-ended:
		return fmt.Errorf("inspector: %w", err)
	case <-ctx.Done():
	}
	stopStreams()
	wait, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
	defer cancel()
	err = server.Shutdown(wait)
	if errors.Is(err, context.DeadlineExceeded) {
		err = server.Close() // a reader that does not read must not keep the operator
	}
	if served := <-ended; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	if err != nil {
		return fmt.Errorf("inspector: %w", err)
	}
	return nil
}

// protocol returns the handler of the protocol's requests.
func protocol(hub *Hub, token token) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+inspect.SnapshotPath, func(w http.ResponseWriter, _ *http.Request) {
		respond(w, http.StatusOK, hub.Snapshot())
	})
	mux.HandleFunc("GET "+inspect.StreamPath, func(w http.ResponseWriter, r *http.Request) {
		stream(w, r, hub)
	})
	mux.HandleFunc("GET "+inspect.IndexPath, func(w http.ResponseWriter, r *http.Request) {
		index(w, r, hub)
	})
	mux.HandleFunc("GET "+inspect.ObjectPath, func(w http.ResponseWriter, r *http.Request) {
		respond(w, http.StatusOK, hub.Object(r.Context(), refIn(r)))
	})
	mux.HandleFunc("GET "+inspect.EventsPath, func(w http.ResponseWriter, r *http.Request) {
		respond(w, http.StatusOK, hub.Events(r.Context(), refIn(r)))
	})
	mux.HandleFunc("GET "+inspect.ChildrenPath, func(w http.ResponseWriter, r *http.Request) {
		respond(w, http.StatusOK, hub.Children(refIn(r)))
	})
	mux.HandleFunc("GET "+inspect.RequestsPath, func(w http.ResponseWriter, _ *http.Request) {
		respond(w, http.StatusOK, hub.Requests(time.Now()))
	})
	mux.HandleFunc("POST "+inspect.IntentsPath, func(w http.ResponseWriter, r *http.Request) {
		in, err := decodeIntent(w, r)
		if err != nil {
			respond(w, http.StatusBadRequest, inspect.Reply{Error: err.Error()})
			return
		}
		respond(w, http.StatusOK, hub.Do(in))
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(inspect.VersionHeader, strconv.Itoa(inspect.Version))
		if reason := refused(r); reason != "" {
			http.Error(w, reason, http.StatusForbidden)
			return
		}
		if !token.isIn(r) {
			http.Error(w, token.missing(), http.StatusUnauthorized)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// refused returns the reason to refuse a request, or nothing. It keeps web pages out: a page in a
// browser can reach loopback ports, but it cannot omit the Origin or change the Host.
func refused(r *http.Request) string {
	if r.Header.Get("Origin") != "" {
		return "the inspector does not serve web pages"
	}
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = r.Host
	}
	if _, _, err := inspect.ParseAddress("tcp:" + net.JoinHostPort(host, "0")); err != nil {
		return "the inspector serves only this machine"
	}
	return ""
}

// respond writes a JSON response. It ignores errors, because they mean that the reader has disconnected.
func respond(w http.ResponseWriter, status int, answer any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = newEncoder(w).Encode(answer)
}

// index responds with a page of an index.
func index(w http.ResponseWriter, r *http.Request, hub *Hub) {
	query := r.URL.Query()
	offset, limit := 0, inspect.MaxIndexPage
	for name, number := range map[string]*int{"offset": &offset, "limit": &limit} {
		text := query.Get(name)
		if text == "" {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			http.Error(w, fmt.Sprintf("%s=%s is not a number of entries", name, text), http.StatusBadRequest)
			return
		}
		*number = n
	}
	page, found := hub.Index(IndexQuery{ID: query.Get("id"), Search: query.Get("search"), Offset: offset, Limit: limit})
	if !found {
		http.Error(w, fmt.Sprintf("there is no index %q", query.Get("id")), http.StatusNotFound)
		return
	}
	respond(w, http.StatusOK, page)
}

// refIn returns the object that a request is about.
func refIn(r *http.Request) inspect.Ref {
	query := r.URL.Query()
	return inspect.Ref{
		Resource: query.Get("resource"), Namespace: query.Get("namespace"), Name: query.Get("name"), UID: query.Get("uid"),
	}
}

// stream writes messages until the reader disconnects or the operator ends.
func stream(w http.ResponseWriter, r *http.Request, hub *Hub) {
	w.Header().Set("Content-Type", "application/jsonl")
	control := http.NewResponseController(w)
	encoder := newEncoder(w)
	send := func(messages []inspect.Message) error {
		for i := range messages {
			if err := encoder.Encode(&messages[i]); err != nil {
				return err
			}
		}
		return control.Flush()
	}

	reader := hub.subscribe()
	defer reader.close()
	for {
		messages, err := reader.next(r.Context())
		switch {
		case errors.Is(err, io.EOF):
			return
		case err != nil:
			// If the server ends rather than the reader, send the last changes.
			_ = send(reader.pending())
			return
		}
		if send(messages) != nil {
			return
		}
	}
}
