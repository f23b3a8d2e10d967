package testcluster

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
)

// Gatekeeper is a proxy of the control plane that accepts only its own tokens and
// certificates, which expire. A stream ends when its credentials expire; every second stream
// ends a little later, so that another request is rejected first.
type Gatekeeper struct {
	life    time.Duration
	address string
	ca      []byte

	mu       sync.Mutex
	until    map[string]time.Time // end of validity, by token or by the fingerprint of a certificate
	rejected map[string]bool      // expired credentials that were used
	refused  map[string]int       // requests by kind
	streams  int
	cut      int // streams
}

// NewGatekeeper starts a proxy with credentials of the given lifetime. It stops at the end of
// the test.
func NewGatekeeper(t testing.TB, life time.Duration) *Gatekeeper {
	t.Helper()
	config := Config(t)
	behind, err := kube.NewSession(config, 0)
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	g := &Gatekeeper{life: life, until: map[string]time.Time{}, rejected: map[string]bool{}, refused: map[string]int{}}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Header.Del("Authorization")
		},
		Transport: behind, FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0),
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		until, ok := g.admit(r)
		if !ok {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusUnauthorized)
			_ = json.NewEncoder(w).Encode(map[string]any{
				"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Unauthorized", "code": http.StatusUnauthorized,
			})
			return
		}
		if kindOf(r) == "watch" {
			ctx, cancel := context.WithDeadline(r.Context(), until)
			defer cancel()
			defer g.ended(ctx)
			r = r.WithContext(ctx)
		}
		proxy.ServeHTTP(w, r)
	}))
	server.EnableHTTP2 = true
	server.Config.ErrorLog = log.New(io.Discard, "", 0)         // clients may not trust its certificate
	server.TLS = &tls.Config{ClientAuth: tls.RequestClientCert} //nolint:gosec // the newest version is the default
	server.StartTLS()
	t.Cleanup(func() {
		server.Close()
		behind.Close()
	})
	g.address = server.URL
	g.ca = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return g
}

// kindOf returns "watch", or the method of a request.
func kindOf(r *http.Request) string {
	if r.URL.Query().Get("watch") != "" {
		return "watch"
	}
	return r.Method
}

// admit reports whether a request is accepted, and until when if it is a stream.
func (g *Gatekeeper) admit(r *http.Request) (until time.Time, ok bool) {
	key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if key == "" && len(r.TLS.PeerCertificates) > 0 {
		key = fingerprint(r.TLS.PeerCertificates[0].Raw)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	until = g.until[key]
	if !time.Now().Before(until) {
		g.refused[kindOf(r)]++
		if !until.IsZero() {
			g.rejected[key] = true
		}
		return until, false
	}
	if kindOf(r) == "watch" {
		if g.streams++; g.streams%2 == 0 {
			until = until.Add(g.life / 4)
		}
	}
	return until, true
}

func (g *Gatekeeper) ended(stream context.Context) {
	if stream.Err() == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.cut++
}

func fingerprint(der []byte) string {
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:])
}

// Accept accepts a token, or the fingerprint of a certificate, until it expires.
func (g *Gatekeeper) Accept(key string) (until time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	until = time.Now().Add(g.life)
	g.until[key] = until
	return until
}

// Token returns a new token and its expiration time.
func (g *Gatekeeper) Token() (token string, until time.Time) {
	token = rand.Text()
	return token, g.Accept(token)
}

// Certificate returns a new certificate and its key in PEM, and their expiration time.
func (g *Gatekeeper) Certificate() (cert, key []byte, until time.Time, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, until, err
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		return nil, nil, until, err
	}
	template := &x509.Certificate{SerialNumber: serial, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		return nil, nil, until, err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, nil, until, err
	}
	cert = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	key = pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})
	return cert, key, g.Accept(fingerprint(der)), nil
}

// Config returns the configuration of the proxy, without credentials.
func (g *Gatekeeper) Config() *rest.Config {
	return &rest.Config{Host: g.address, TLSClientConfig: rest.TLSClientConfig{CAData: g.ca}}
}

// Revoke expires all credentials.
func (g *Gatekeeper) Revoke() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for key := range g.until {
		g.until[key] = time.Now()
	}
}

// Refused returns the number of requests that were answered with 401, of a kind: "watch" or a
// method.
func (g *Gatekeeper) Refused(kind string) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.refused[kind]
}

// Issued returns the number of issued credentials, and of those that were used after they
// expired.
func (g *Gatekeeper) Issued() (all, rejected int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.until), len(g.rejected)
}

// Cut returns the number of streams that ended when their credentials expired.
func (g *Gatekeeper) Cut() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.cut
}
