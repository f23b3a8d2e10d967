package reviews

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/admission"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
)

const (
	// maxReview is the number of bytes of a request, whatever the server before it accepts.
	maxReview = 64 << 20
	// maxReviewTime is the longest that API servers wait for a response, and the default if a request does not say.
	maxReviewTime = 30 * time.Second
	// replayHeader is [webhook.ReplayHeader].
	replayHeader = "Kopf-Replay"
)

// ServeHTTP implements [http.Handler].
func (r *Reviews) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "this is a webhook: it takes AdmissionReviews by POST", http.StatusMethodNotAllowed)
		return
	}
	limit := timeLimit(req)
	ctx, cancel := context.WithTimeoutCause(r.base, limit, handlers.ErrTimeout)
	defer cancel()
	defer context.AfterFunc(req.Context(), cancel)() // the API server has given up
	body, err := r.answer(ctx, w, req, limit)
	if err != nil {
		r.reject(w, req, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body) // an error means that nobody waits for the response
}

// answer returns the response to a request.
func (r *Reviews) answer(ctx context.Context, w http.ResponseWriter, req *http.Request, limit time.Duration) ([]byte, error) {
	body, err := readReview(w, req)
	if err != nil {
		return nil, fmt.Errorf("read the review: %w", err)
	}
	request, err := admission.Decode(body)
	if err != nil {
		return nil, err
	}
	request.Header, request.TLS, request.HandlerID = headerOf(req), verified(req.TLS), r.handlerAt(req.URL.Path)
	asked := review{request: request, limit: limit, replay: req.Header.Get(replayHeader), size: len(body)}
	request.DryRun = request.DryRun || asked.replay != ""
	response, err := r.review(ctx, &asked)
	if err != nil {
		return nil, err
	}
	return response.Encode(request.APIVersion, request.UID)
}

// headerOf returns the headers of a request for handlers, with the Host, which the HTTP server keeps apart.
func headerOf(req *http.Request) http.Header {
	header := req.Header.Clone()
	header.Del(replayHeader)
	if req.Host != "" {
		header.Set("Host", req.Host)
	}
	return header
}

// verified returns the state of a connection for handlers. Anybody can present a certificate that no authority
// verifies, so they never see one.
func verified(state *tls.ConnectionState) *tls.ConnectionState {
	if state == nil || len(state.VerifiedChains) > 0 || len(state.PeerCertificates) == 0 {
		return state
	}
	anonymous := *state
	anonymous.PeerCertificates = nil
	return &anonymous
}

// readReview reads the whole request. Of a body that knows its length, it makes one copy.
func readReview(w http.ResponseWriter, req *http.Request) ([]byte, error) {
	known, ok := req.Body.(interface{ Len() int })
	if !ok || known.Len() > maxReview {
		return io.ReadAll(http.MaxBytesReader(w, req.Body, maxReview))
	}
	body := make([]byte, known.Len())
	_, err := io.ReadFull(req.Body, body)
	return body, err
}

// reject answers a request that is not a review, or that cannot be answered.
func (r *Reviews) reject(w http.ResponseWriter, req *http.Request, err error) {
	status := http.StatusBadRequest
	var known *admission.InvalidError
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &known):
		status = known.Status
	case errors.As(err, &tooLarge):
		status = http.StatusRequestEntityTooLarge
	}
	r.deps.Logger.Debug("Cannot answer a request to the webhooks: "+err.Error(),
		observe.EventKey, observe.LogReviewRejected, "status", status, "path", req.URL.Path)
	http.Error(w, err.Error(), status)
}

// timeLimit returns for how long the handlers may run: a little less than the API server waits, so that it gets a
// response.
func timeLimit(req *http.Request) time.Duration {
	limit, err := time.ParseDuration(req.URL.Query().Get("timeout"))
	if err != nil || limit <= 0 || limit > maxReviewTime {
		limit = maxReviewTime
	}
	return limit - min(limit/10, 500*time.Millisecond)
}

// handlerAt returns the id of the handler at a path, as the configurations of webhooks have it: the id itself, or
// the name of its webhook. It is empty for the path of all handlers.
func (r *Reviews) handlerAt(path string) string {
	if rest, ok := strings.CutPrefix(path, *r.prefix.Load()); ok && (rest == "" || rest[0] == '/') {
		path = rest
	}
	id := strings.Trim(path, "/")
	if known, ok := r.ids[id]; ok {
		return known
	}
	return id
}
