package kube

import (
	"context"
	"io"
	"net/http"

	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// Request is a request to the API server. Most callers use a verb of [Client] instead.
type Request struct {
	Method      string
	Path        string // from the root of the API, with the query
	Accept      string // defaults to JSON
	ContentType string // of the body
	Body        []byte

	Resource *resources.Resource // of the objects in the path; nil if there is none

	name, subresource string
	stream            bool
	anyAnswer         bool // whether to retry only if the server does not answer
}

// Do sends a request with the retries of the client's options, and returns the body of
// the response.
func (c *Client) Do(ctx context.Context, r Request) ([]byte, error) {
	body, _, err := c.do(ctx, r)
	return body, err
}

func (c *Client) do(ctx context.Context, r Request) (body []byte, header http.Header, err error) {
	err = c.retry(ctx, r, func() error {
		return c.receive(ctx, r, func(resp *http.Response) error {
			header = resp.Header
			body, err = io.ReadAll(resp.Body)
			return err
		})
	})
	return body, header, err
}

// receive sends a request once for each session, and reads the response with a function.
// The request timeout limits each attempt, the reading included.
func (c *Client) receive(ctx context.Context, r Request, read func(*http.Response) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	e := &exchange{client: c, request: r, limit: c.options.RequestTimeout, cancel: cancel}
	resp, err := e.send(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // everything of interest has been read
	if err = read(resp); err != nil {
		err = networkError(r, causeOf(ctx, err))
	}
	e.end(resp.StatusCode, err)
	return err
}
