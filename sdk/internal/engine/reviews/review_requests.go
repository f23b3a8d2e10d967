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
	maxReview     = 64 << 20         // limits the size of a request, in bytes, whatever the server in front accepts
	maxReviewTime = 30 * time.Second // longest time that API servers wait, and the default if the request has no timeout
	replayHeader  = "Kopf-Replay"    // [webhook.ReplayHeader]
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
	defer context.AfterFunc(req.Context(), cancel)() // the API server stopped waiting
	body, err := r.answer(ctx, w, req, limit)
	if err == nil {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body) // an error means that the client has disconnected
		return
	}
	status := http.StatusBadRequest
	if known, ok := errors.AsType[*admission.InvalidError](err); ok {
		status = known.Status
	} else if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		status = http.StatusRequestEntityTooLarge
	}
	r.deps.Logger.Debug("Cannot answer a request to the webhooks: "+err.Error(),
		observe.EventKey, observe.LogReviewRejected, "status", status, "path", req.URL.Path)
	http.Error(w, err.Error(), status)
}

// answer returns the body of the response to a request.
func (r *Reviews) answer(ctx context.Context, w http.ResponseWriter, req *http.Request, limit time.Duration) ([]byte, error) {
	body, err := readReview(w, req)
	if err != nil {
		return nil, fmt.Errorf("read the review: %w", err)
	}
	request, err := admission.Decode(body)
	if err != nil {
		return nil, err
	}
	header := req.Header.Clone()
	header.Del(replayHeader)
	if req.Host != "" { // the HTTP server stores it separately
		header.Set("Host", req.Host)
	}
	request.Header, request.TLS, request.HandlerID = header, verified(req.TLS), r.handlerAt(req.URL.Path)
	asked := review{request: request, limit: limit, replay: req.Header.Get(replayHeader), size: len(body)}
	request.DryRun = request.DryRun || asked.replay != ""
	response, err := r.review(ctx, &asked)
	if err != nil {
		return nil, err
	}
	return response.Encode(request.APIVersion, request.UID)
}

// verified returns the connection state without unverified client certificates, because any client can present one.
func verified(state *tls.ConnectionState) *tls.ConnectionState {
	if state == nil || len(state.VerifiedChains) > 0 || len(state.PeerCertificates) == 0 {
		return state
	}
	anonymous := *state
	anonymous.PeerCertificates = nil
	return &anonymous
}

// readReview reads the whole request. If the body has a known length, it allocates the exact size.
func readReview(w http.ResponseWriter, req *http.Request) ([]byte, error) {
	known, ok := req.Body.(interface{ Len() int })
	if !ok || known.Len() > maxReview {
		return io.ReadAll(http.MaxBytesReader(w, req.Body, maxReview))
	}
	body := make([]byte, known.Len())
	_, err := io.ReadFull(req.Body, body)
	return body, err
}

// timeLimit returns the time limit for the handlers: the timeout of the API server without the time to send the response.
func timeLimit(req *http.Request) time.Duration {
	limit, err := time.ParseDuration(req.URL.Query().Get("timeout"))
	if err != nil || limit <= 0 || limit > maxReviewTime {
		limit = maxReviewTime
	}
	return limit - min(limit/10, 500*time.Millisecond)
}

// handlerAt returns the id of the handler at a path, which contains the id or its webhook's name; empty for all handlers.
func (r *Reviews) handlerAt(path string) string {
	known, _ := r.webhooks.options()
	if rest, ok := strings.CutPrefix(path, known.Client.Path()); ok && (rest == "" || rest[0] == '/') {
		path = rest
	}
	name := strings.Trim(path, "/")
	for id, webhook := range known.Names {
		if webhook == name && known.Names[name] == "" {
			return id
		}
	}
	return name
}
