package kube

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kopf-dev/kopf/sdk/internal/fence"
)

// errorBodyLimit limits the bytes that are read of an unsuccessful response. The conflicts of an apply take about 200 bytes
// per field, and a truncated body cannot be parsed as a status.
const errorBodyLimit = 1 << 20

// anyServer is the address of a request before a session is chosen, whose address replaces it.
var anyServer = &url.URL{Scheme: "https", Host: anyHost}

const anyHost = "api-server.invalid"

// exchange is a request with its attempts: one with the current session, and one after each login.
type exchange struct {
	client  *Client
	request *Request
	limit   time.Duration // time limit of an attempt; none if not positive
	cancel  context.CancelCauseFunc

	left      time.Duration // remaining time of the fence for a writing request; no limit if not positive
	begun     time.Time
	repeated  bool        // the current attempt is not the first one
	timer     *time.Timer // nil if there is no limit
	rejection error       // 401; nil if the last attempt was accepted
}

// exchangeKey is the context's key of the exchange that a request belongs to.
type exchangeKey struct{}

// send sends the request and returns a successful response. The context also limits the reading of the response, after
// which the caller calls end.
func (e *exchange) send(ctx context.Context) (*http.Response, error) {
	r := e.request
	resp, err := e.attempt(ctx)
	if err == nil && mayFollow(r.Method, resp.StatusCode) {
		_ = resp.Body.Close()
		resp, err = e.sendFollowing(ctx)
	}
	if missing, ok := errors.AsType[*noSessionError](err); ok {
		return nil, fmt.Errorf("%s %s: %w", r.Method, r.Path, missing.err)
	}
	if err != nil {
		err = networkError(r, causeOf(ctx, err))
		if !e.begun.IsZero() {
			e.end(0, err)
		}
		return nil, err
	}
	if e.rejection != nil {
		_ = resp.Body.Close()
		return nil, e.rejection
	}
	e.client.warn(resp.Header)
	if err := failure(r, resp); err != nil {
		_ = resp.Body.Close()
		e.end(resp.StatusCode, err)
		return nil, err
	}
	return resp, nil
}

// attempt sends the request with the current session, and again after each login.
func (e *exchange) attempt(ctx context.Context) (*http.Response, error) {
	source := e.client.source
	session, err := source.Current(ctx)
	if err != nil {
		return nil, &noSessionError{err}
	}
	for logins := 0; ; logins++ {
		req, err := e.newRequest(ctx, session.address)
		if err != nil {
			return nil, err
		}
		e.begin(ctx)
		resp, err := session.RoundTrip(req)
		if err != nil || resp.StatusCode != http.StatusUnauthorized {
			return resp, err
		}
		e.rejected(resp, buffer(resp))
		next := anotherSession(ctx, source, session, logins, e)
		if next == nil {
			return resp, nil
		}
		session = next
	}
}

// sendFollowing sends the request like attempt, and follows redirects. It repeats the request from the start, because
// redirects are rare.
func (e *exchange) sendFollowing(ctx context.Context) (*http.Response, error) {
	req, err := e.newRequest(context.WithValue(ctx, exchangeKey{}, e), "https://"+anyHost)
	if err != nil {
		return nil, err
	}
	return e.client.following.Do(req)
}

// mayFollow reports whether a response is a redirect that keeps the method. Other redirects would turn a PATCH into a
// GET, whose response looks as if the patch was applied.
func mayFollow(method string, status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther:
		return method == http.MethodGet
	case http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// acceptsJSON is the Accept header of most requests.
var acceptsJSON = []string{"application/json"}

// newRequest returns the request for an address. The request has its own headers, because credential plugins add
// headers.
func (e *exchange) newRequest(ctx context.Context, address string) (*http.Request, error) {
	r := e.request
	var body io.Reader
	if r.Body != nil {
		body = bytes.NewReader(r.Body)
	}
	req, err := http.NewRequestWithContext(ctx, r.Method, address+r.Path, body)
	if err != nil {
		return nil, fmt.Errorf("request: %w", err)
	}
	req.Header["Accept"], req.Header["User-Agent"] = acceptsJSON, e.client.userAgent
	if r.Accept != "" {
		req.Header["Accept"] = []string{r.Accept}
	}
	if r.ContentType != "" {
		req.Header["Content-Type"] = []string{r.ContentType}
	}
	return req, nil
}

// begin starts an attempt. Like rejected and loginFailed, it does nothing for a nil exchange.
func (e *exchange) begin(ctx context.Context) {
	if e == nil {
		return
	}
	e.rejection, e.repeated, e.begun = nil, e.repeated || !e.begun.IsZero(), time.Now()
	if e.timer != nil {
		e.timer.Stop() // the previous attempt was redirected
	}
	e.left = 0
	if left, limited := fence.Left(ctx); limited && writes(e.request.Method) {
		e.left = max(1, left) // positive, so that a lapsed fence does not mean no limit
	}
	e.expireIn(0)
}

// expireIn starts the timer that cancels a running attempt.
func (e *exchange) expireIn(since time.Duration) {
	limit, cause := e.limit, context.DeadlineExceeded
	if e.left > 0 && (limit <= 0 || e.left <= limit) {
		limit, cause = e.left, fence.ErrLapsed
	}
	if limit > 0 {
		e.timer = time.AfterFunc(limit-since, func() { e.cancel(cause) })
	}
}

// limitTo replaces the time limit of the running attempt. The time since the start of the attempt counts.
func (e *exchange) limitTo(limit time.Duration) {
	if limit == e.limit {
		return
	}
	if e.timer != nil {
		e.timer.Stop()
	}
	e.limit = limit
	e.expireIn(time.Since(e.begun))
}

// end ends an attempt.
func (e *exchange) end(status int, err error) {
	if e.timer != nil {
		e.timer.Stop()
	}
	if observe := e.client.options.Observe; observe != nil {
		r := e.request
		observe(Call{
			Method: r.Method, Verb: r.verb(), Path: r.Path, Status: status, Err: err, Duration: time.Since(e.begun),
			Repeated: r.repeated || e.repeated, Resource: r.Resource, Subresource: r.subresource,
		})
	}
}

// rejected ends an attempt that the API server answered with 401.
func (e *exchange) rejected(resp *http.Response, body []byte) {
	if e == nil {
		return
	}
	e.client.warn(resp.Header)
	e.rejection = statusError(e.request, resp, body)
	e.end(resp.StatusCode, e.rejection)
}

// loginFailed records why there is no session for another attempt.
func (e *exchange) loginFailed(err error) {
	if e != nil {
		e.rejection = fmt.Errorf("%w: %w", err, e.rejection)
	}
}

// causeOf returns the cause of the context's end; the error if the context did not end.
func causeOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// errAbsent is the cause of a 404 whose text is not decoded. Each creation of a child begins with such a response.
var errAbsent = apierrors.NewGenericServerResponse(http.StatusNotFound, http.MethodGet, schema.GroupResource{}, "", "", 0, false)

// isAbsent reports whether an error wraps errAbsent. It costs much less than [Classify].
func isAbsent(err error) bool { return errors.Is(err, errAbsent) }

// failure returns the error of an unsuccessful response.
func failure(r *Request, resp *http.Response) error {
	if resp.StatusCode >= 200 && resp.StatusCode < 300 {
		return nil
	}
	if r.mayBeAbsent && resp.StatusCode == http.StatusNotFound {
		_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, errorBodyLimit)) // a rest would cancel the stream
		return &Error{Method: r.Method, Path: r.Path, Err: errAbsent}
	}
	// If the body cannot be read, the error only has the status.
	body, _ := io.ReadAll(io.LimitReader(resp.Body, errorBodyLimit))
	return statusError(r, resp, body)
}
