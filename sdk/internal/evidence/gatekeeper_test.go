package evidence

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	ctl "github.com/kopf-dev/kopf/sdk/internal/controlplanetest"
)

// gatekeeper stands before the control plane, and lets those in who have a token of its
// own. Tokens last for a moment, and streams no longer than the tokens they began with.
type gatekeeper struct {
	address string
	life    time.Duration

	mu     sync.Mutex
	tokens map[string]time.Time // until when

	refused, cut atomic.Int32
}

func newGatekeeper(t *testing.T, life time.Duration) *gatekeeper {
	t.Helper()
	config := ctl.Config(t)
	behind, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	g := &gatekeeper{life: life, tokens: map[string]time.Time{}}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Header.Del("Authorization")
		},
		Transport: behind, FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0),
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		until := g.until(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
		if !time.Now().Before(until) {
			g.refused.Add(1)
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusUnauthorized)
			_ = json.NewEncoder(w).Encode(tree{
				"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Unauthorized", "code": http.StatusUnauthorized,
			})
			return
		}
		if isWatch(r) {
			ctx, cancel := context.WithDeadline(r.Context(), until)
			defer cancel()
			context.AfterFunc(ctx, func() { g.cut.Add(1) })
			r = r.WithContext(ctx)
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	g.address = server.URL
	return g
}

func (g *gatekeeper) until(token string) time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.tokens[token]
}

// issue makes a token, and returns how to use it and until when.
func (g *gatekeeper) issue() (*rest.Config, time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	token, until := rand.Text(), time.Now().Add(g.life)
	g.tokens[token] = until
	return &rest.Config{Host: g.address, BearerToken: token}, until
}
