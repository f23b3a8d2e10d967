package tunnel

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/webhook"
)

// operatorAt serves reviews at a new socket until a call of stop. Like a stopped operator, it answers the reviews that it
// has accepted.
func operatorAt(t *testing.T, socket string, handler http.HandlerFunc) (stop func()) {
	t.Helper()
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: handler}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) }) // it ends with an error
	stop = sync.OnceFunc(func() {
		if err := server.Shutdown(t.Context()); err != nil {
			_ = server.Close()
		}
		serving.Wait()
	})
	t.Cleanup(func() {
		_ = server.Close()
		serving.Wait()
	})
	return stop
}

func says(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) }
}

// ask sends a request to the forwarder.
func ask(t *testing.T, g *Forwarder, query, body string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/"+g.secret+"/check"+query, strings.NewReader(body))
	w := httptest.NewRecorder()
	g.ServeHTTP(w, r)
	return w
}

func TestForwarder_PassesReviewsOn(t *testing.T) {
	socket := filepath.Join(shortDir(t), "1.sock")
	operatorAt(t, socket, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusAccepted)
		fmt.Fprintf(w, "%s %s %s", r.URL, r.Header.Get("Authorization"), body)
	})
	g := NewForwarder(0)
	g.Pass(socket)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/"+g.secret+"/validate1/sub?timeout=5s", strings.NewReader("{}"))
	r.Header.Set("Authorization", "Bearer x")
	w := httptest.NewRecorder()
	g.ServeHTTP(w, r)
	if got := w.Body.String(); w.Code != http.StatusAccepted || got != "/"+g.secret+"/validate1/sub?timeout=5s Bearer x {}" || w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("it answers %d %q %v", w.Code, got, w.Header())
	}
}

func TestForwarder_PathIsThatOfAnnouncedAddress(t *testing.T) {
	socket := filepath.Join(shortDir(t), "1.sock")
	operatorAt(t, socket, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.URL.Path) })
	g := NewForwarder(0)
	g.base = Target{URL: "https://host.example/some/path/"}.below(g.secret).path()
	g.Pass(socket)
	for _, before := range []string{"", "/some/path", "/other"} { // a proxy in front may change the path
		w := httptest.NewRecorder()
		g.ServeHTTP(w, httptest.NewRequest(http.MethodPost, before+"/"+g.secret+"/one", strings.NewReader("{}")))
		if want := "/some/path/" + g.secret + "/one"; w.Body.String() != want {
			t.Errorf("%q: %s instead of %s", before, w.Body, want)
		}
	}
}

func TestForwarder_ReviewWaitsForOperator(t *testing.T) {
	socket := filepath.Join(shortDir(t), "1.sock")
	g := NewForwarder(time.Minute)
	answered := make(chan *httptest.ResponseRecorder, 1)
	go func() { answered <- ask(t, g, "?timeout=30s", "{}") }()
	g.Pass(socket) // the socket has no listener yet
	select {
	case w := <-answered:
		t.Fatalf("answered without an operator: %d %s", w.Code, w.Body)
	case <-time.After(5 * dialEvery):
	}
	operatorAt(t, socket, says("here"))
	if w := <-answered; w.Code != http.StatusOK || w.Body.String() != "here" {
		t.Errorf("it answers %d %s", w.Code, w.Body)
	}
}

func TestForwarder_ReviewMovesToNextOperator(t *testing.T) {
	dir := shortDir(t)
	g := NewForwarder(time.Minute)
	asked := make(chan struct{})
	var once sync.Once
	first, err := net.Listen("unix", filepath.Join(dir, "1.sock"))
	if err != nil {
		t.Fatal(err)
	}
	// The first operator is killed while it answers.
	server := &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // the end of the connection is only seen after the body
		once.Do(func() { close(asked) })
		<-r.Context().Done()
	})}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(first) })
	g.Pass(filepath.Join(dir, "1.sock"))
	answered := make(chan *httptest.ResponseRecorder, 1)
	go func() { answered <- ask(t, g, "", `{"n":1}`) }()
	<-asked
	g.Hold()
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	serving.Wait()
	operatorAt(t, filepath.Join(dir, "2.sock"), func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
	g.Pass(filepath.Join(dir, "2.sock"))
	if w := <-answered; w.Code != http.StatusOK || w.Body.String() != `{"n":1}` {
		t.Errorf("it answers %d %s", w.Code, w.Body)
	}
}

func TestForwarder_UnreadyOperatorIsAskedAgain(t *testing.T) {
	socket := filepath.Join(shortDir(t), "1.sock")
	var asked atomic.Int32
	operatorAt(t, socket, func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) < 3 {
			http.Error(w, "indexing", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprint(w, "ready")
	})
	g := NewForwarder(time.Minute)
	g.Pass(socket)
	if w := ask(t, g, "", "{}"); w.Code != http.StatusOK || w.Body.String() != "ready" {
		t.Errorf("it answers %d %s", w.Code, w.Body)
	}
}

func TestForwarder_AnswersBeforeAPIServerGivesUp(t *testing.T) {
	g := NewForwarder(time.Minute)
	began := time.Now()
	w := ask(t, g, "?timeout=300ms", "{}")
	if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "no operator is running") {
		t.Errorf("it answers %d %s", w.Code, w.Body)
	}
	if took := time.Since(began); took < 100*time.Millisecond {
		t.Errorf("it has waited for %s only", took)
	}
}

func TestForwarder_EndAnswersWhatWaits(t *testing.T) {
	g := NewForwarder(time.Minute)
	answered := make(chan *httptest.ResponseRecorder, 1)
	go func() { answered <- ask(t, g, "", "{}") }()
	g.Hold()
	g.end()
	if w := <-answered; w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "the session has ended") {
		t.Errorf("it answers %d %s", w.Code, w.Body)
	}
}

func TestForwarder_RefusesUntilNextOperator(t *testing.T) {
	g := NewForwarder(time.Hour)
	waiting := make(chan *httptest.ResponseRecorder, 1)
	go func() { waiting <- ask(t, g, "", "{}") }()
	g.Refuse()
	for _, w := range []*httptest.ResponseRecorder{<-waiting, ask(t, g, "", "{}")} {
		if w.Code != http.StatusServiceUnavailable || w.Body.String() != "kopf: the operator has crashed\n" {
			t.Errorf("%d: %s", w.Code, w.Body)
		}
	}
	socket := filepath.Join(shortDir(t), "1.sock")
	operatorAt(t, socket, says("fine"))
	g.Pass(socket)
	if w := ask(t, g, "", "{}"); w.Body.String() != "fine" {
		t.Errorf("%d: %s", w.Code, w.Body)
	}
}

func TestForwarder_WaitDoesNotLimitOperator(t *testing.T) {
	socket := filepath.Join(shortDir(t), "1.sock")
	const wait = 20 * time.Millisecond
	operatorAt(t, socket, func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(5 * wait): // a slow handler
			fmt.Fprint(w, "at last")
		case <-r.Context().Done():
		}
	})
	g := NewForwarder(wait)
	g.Pass(socket)
	if w := ask(t, g, "?timeout=10s", "{}"); w.Code != http.StatusOK || w.Body.String() != "at last" {
		t.Errorf("it answers %d %s", w.Code, w.Body)
	}
	g.Hold()
	if w := ask(t, g, "?timeout=10s", "{}"); w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "no operator is running") {
		t.Errorf("without an operator, it answers %d %s", w.Code, w.Body)
	}
}

func TestForwarder_LimitIsThatOfAPIServer(t *testing.T) {
	for query, want := range map[string]time.Duration{
		"":              29750 * time.Millisecond,
		"?timeout=x":    29750 * time.Millisecond,
		"?timeout=-1s":  29750 * time.Millisecond,
		"?timeout=1h":   29750 * time.Millisecond,
		"?timeout=2s":   1750 * time.Millisecond,
		"?timeout=10ms": 5 * time.Millisecond,
	} {
		if got := limit(httptest.NewRequest(http.MethodPost, "/"+query, nil)); got != want {
			t.Errorf("%q: %s instead of %s", query, got, want)
		}
	}
}

func TestForwarder_RejectsOtherPaths(t *testing.T) {
	g := NewForwarder(0)
	for _, path := range []string{"/", "/check", "/x" + g.secret + "/check", "/" + g.secret[1:] + "/check", "/" + g.secret + "/dev.kopf.check/unknown"} {
		w := httptest.NewRecorder()
		g.ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, strings.NewReader("{}")))
		if w.Code != http.StatusNotFound || strings.Contains(w.Body.String(), g.secret) {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

func TestForwarder_RejectsHugeReviews(t *testing.T) {
	g := NewForwarder(0)
	if w := ask(t, g, "", strings.Repeat("x", maxReview+1)); w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("it answers %d %s", w.Code, w.Body)
	}
}

func TestForwarder_PassesClientCertificateOn(t *testing.T) {
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	cert := server.Certificate()
	r := httptest.NewRequest(http.MethodPost, "/", nil)
	r.Header.Set(webhook.PeerCertificateHeader, "forged")
	if got := headerFor(r).Get(webhook.PeerCertificateHeader); got != "" {
		t.Errorf("a client can claim to have the certificate %q", got)
	}
	r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{cert}}
	if got := headerFor(r).Get(webhook.PeerCertificateHeader); got != "" {
		t.Errorf("a certificate that is not verified is passed on: %q", got)
	}
	r.TLS.VerifiedChains = [][]*x509.Certificate{r.TLS.PeerCertificates}
	if got := headerFor(r).Get(webhook.PeerCertificateHeader); !strings.HasPrefix(got, "-----BEGIN+CERTIFICATE-----%0A") {
		t.Errorf("the header is %q", got)
	}
}
