package tunnel

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/sdk/webhook"
)

const (
	// maxReview is the largest review that the forwarder accepts, and the largest answer. API servers limit objects to
	// 3 MB, and a review of an update has two.
	maxReview = webhook.DefaultMaxBytes

	// defaultWait is how long a review waits for an operator, unless the API server gives up earlier. It
	// is the default timeout of webhooks.
	defaultWait = 10 * time.Second

	// longestTimeout is how long API servers wait at most.
	longestTimeout = 30 * time.Second

	// answerMargin is the part of the API server's timeout that is left for the answer.
	answerMargin = 250 * time.Millisecond
)

// Forwarder takes the reviews of API servers, and passes them on to the operator that runs. Operators come and
// go: reviews that arrive between two of them wait for the next one. It is an [http.Handler]; its methods may
// be called concurrently.
type Forwarder struct {
	wait   time.Duration
	secret string // an element of the path of every request

	mu       sync.Mutex
	base     string        // the path of the announced address, which ends with the secret
	operator *upstream     // nil while there is none
	refusal  string        // reason why reviews do not wait for the next operator; empty if they wait
	ended    bool          // there will be no other one
	changed  chan struct{} // closed when operator is replaced
	checks   map[string]bool
}

// NewForwarder returns a forwarder without an operator. A review waits for one for the duration, or 10s if it is 0, but
// never longer than the API server. The duration does not limit the operator that is there.
func NewForwarder(wait time.Duration) *Forwarder {
	if wait <= 0 {
		wait = defaultWait
	}
	secret := randomName()
	return &Forwarder{wait: wait, secret: secret, base: "/" + secret, changed: make(chan struct{}), checks: map[string]bool{}}
}

// randomName returns an unguessable name.
func randomName() string {
	var b [12]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// Pass passes reviews on to the operator that listens at the Unix socket, or soon will.
func (f *Forwarder) Pass(socket string) { f.replace(newUpstream(socket), "") }

// Hold makes new reviews wait for the next operator. The previous operator still answers the reviews in flight,
// unless it ends before.
func (f *Forwarder) Hold() { f.replace(nil, "") }

// Refuse answers reviews at once with an error until the next operator connects. The failure policy of development
// admits their requests.
func (f *Forwarder) Refuse() { f.replace(nil, "the operator has crashed") }

// end answers the reviews that wait: there will be no other operator.
func (f *Forwarder) end() {
	f.replace(nil, "the session has ended")
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended = true
}

func (f *Forwarder) replace(next *upstream, refusal string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended {
		return
	}
	f.operator, f.refusal = next, refusal
	close(f.changed)
	f.changed = make(chan struct{})
}

// current returns the operator, or why there is none at the moment, and a channel that is closed when that changes.
func (f *Forwarder) current() (operator *upstream, refusal string, changed <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.operator, f.refusal, f.changed
}

// ServeHTTP answers a review. The path contains a secret that only the webhook configurations have, because other
// processes may reach the port. Requests with another path get no answer.
func (f *Forwarder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rest, ok := f.below(r.URL.Path)
	if !ok {
		http.NotFound(w, r)
		return
	}
	if id, ok := strings.CutPrefix(rest, checkPath); ok {
		f.answerCheck(w, r, id)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxReview))
	if err != nil {
		code := http.StatusBadRequest
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			code = http.StatusRequestEntityTooLarge
		}
		http.Error(w, fmt.Sprintf("read the review: %v", err), code)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), limit(r))
	defer cancel()
	f.forward(ctx, w, &review{path: f.announced() + "/" + rest, query: r.URL.RawQuery, method: r.Method, host: r.Host, header: headerFor(r), body: body})
}

// announce sets the path of the announced address.
func (f *Forwarder) announce(path string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.base = path
}

func (f *Forwarder) announced() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.base
}

// below returns the path after the secret. The path before the secret depends on proxies.
func (f *Forwarder) below(path string) (rest string, ok bool) {
	for rest = path; rest != ""; {
		var element string
		element, rest, _ = strings.Cut(rest, "/")
		if subtle.ConstantTimeCompare([]byte(element), []byte(f.secret)) == 1 {
			return rest, true
		}
	}
	return "", false
}

// limit returns how long the review may take, from the API server's timeout in the query.
func limit(r *http.Request) time.Duration {
	asked, err := time.ParseDuration(r.URL.Query().Get("timeout"))
	if err != nil || asked <= 0 || asked > longestTimeout {
		asked = longestTimeout
	}
	return max(asked-answerMargin, asked/2)
}

// headerFor returns the headers for the operator: the API server's headers, and the API server's certificate if it is
// verified. Clients can set neither the certificate nor the request for a replay.
func headerFor(r *http.Request) http.Header {
	header := r.Header.Clone()
	for _, name := range []string{webhook.PeerCertificateHeader, webhook.ReplayHeader, "Connection", "Keep-Alive", "Transfer-Encoding", "Upgrade", "Te", "Trailer"} {
		header.Del(name)
	}
	if r.TLS != nil && len(r.TLS.VerifiedChains) > 0 {
		block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.TLS.PeerCertificates[0].Raw})
		header.Set(webhook.PeerCertificateHeader, url.QueryEscape(string(block)))
	}
	return header
}
