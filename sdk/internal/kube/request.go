package kube

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// Request is a request to the API server. Most callers use a verb of [Client] instead.
type Request struct {
	Method      string
	Path        string // path from the root of the API, with the query
	Accept      string // defaults to JSON
	ContentType string // type of the body
	Body        []byte

	Resource *resources.Resource // resource of the objects in the path; nil for other paths

	name, subresource string
	stream            bool
	repeated          bool                   // an earlier attempt failed
	repeat            func() ([]byte, error) // returns the body of later attempts; nil if they send the same body
	patience          time.Duration          // factor of the request timeout; 0 is 1
	answerTimeout     time.Duration          // time until the response begins; none if not positive
	anyAnswer         bool                   // retry only if the server does not respond
	keepManagedFields bool                   // keep metadata.managedFields of the object in the response
	mayBeAbsent       bool                   // a 404 is usual, and its text is of no interest
}

// Do sends a request with the retries of the client's options, and returns the body of
// the response.
func (c *Client) Do(ctx context.Context, r Request) ([]byte, error) {
	var received []byte
	err := c.fetch(ctx, r, func(body []byte, _ http.Header) error {
		received = body
		return nil
	})
	return received, err
}

// errGarbled is wrapped by the error of a successful response with unexpected content. Proxies send such responses while
// a server starts. The request is retried as after a 503.
var errGarbled = errors.New("unexpected content in the response")

// fetch sends a request with the retries of the client's options, and reads the response with a function. It also retries
// if the function fails.
func (c *Client) fetch(ctx context.Context, r Request, read func(body []byte, header http.Header) error) error {
	return c.retry(ctx, &r, func() error {
		defer func() { r.repeated = true }()
		return c.receive(ctx, &r, func(resp *http.Response) error {
			body, err := io.ReadAll(resp.Body)
			if err != nil {
				return err
			}
			if err := read(body, resp.Header); err != nil {
				return fmt.Errorf("%w: %w", errGarbled, err)
			}
			return nil
		})
	})
}

// shorter returns the shorter of two time limits. A limit that is not positive means no limit.
func shorter(a, b time.Duration) time.Duration {
	if a <= 0 || b > 0 && b < a {
		return b
	}
	return a
}

// receive sends a request once for each session, and reads the response with a function. The request timeout limits each
// attempt with the reading. The request's answerTimeout also limits the time until the response starts.
func (c *Client) receive(ctx context.Context, r *Request, read func(*http.Response) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	whole := c.options.RequestTimeout * max(1, r.patience)
	e := &exchange{client: c, request: r, limit: shorter(r.answerTimeout, whole), cancel: cancel}
	resp, err := e.send(ctx)
	if err != nil {
		return err
	}
	e.limitTo(whole)
	defer func() {
		cancel(nil)           // otherwise, Close waits for the goroutine of the request
		_ = resp.Body.Close() // the response is already read, so an error is irrelevant
	}()
	if err = read(resp); err != nil {
		err = networkError(r, causeOf(ctx, err))
	}
	e.end(resp.StatusCode, err)
	return err
}
