package kube

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// errorBodyLimit bounds what is read of a response that tells an error.
const errorBodyLimit = 64 << 10

// maxLogins is how many times one request asks for other credentials before it fails.
// Without a limit, a login that brings bad credentials again and again would spin.
const maxLogins = 3

// Request is what to send. Most callers have a verb of [Client] for it.
type Request struct {
	Method      string
	Path        string // from the root of the API, with the query
	Accept      string // JSON if empty
	ContentType string // of the body
	Body        []byte

	Resource *resources.Resource // what the path is about; nil if nothing in particular

	name, subresource string
	stream            bool
	anyAnswer         bool // errors that the server tells are final; only the network's are retried
}

// Do sends a request, repeats it as the options tell, and returns the response's body.
func (c *Client) Do(ctx context.Context, r Request) ([]byte, error) {
	body, _, err := c.do(ctx, r)
	return body, err
}

// noticeKey is the context's key of who wants to know of requests.
type noticeKey struct{}

// WithNotice makes a context whose requests are noticed from their beginning, retries
// included, until the returned function is called at their end. Streams are not noticed.
func WithNotice(ctx context.Context, begin func() (end func())) context.Context {
	return context.WithValue(ctx, noticeKey{}, begin)
}

// Notice tells whoever wants to know that a request begins, and returns what to call at
// its end. It is for those who wait for the cluster in other ways.
func Notice(ctx context.Context) (end func()) {
	if begin, ok := ctx.Value(noticeKey{}).(func() func()); ok {
		return begin()
	}
	return func() {}
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

// receive makes one attempt whose response is read by a function within the time limit.
func (c *Client) receive(ctx context.Context, r Request, read func(*http.Response) error) error {
	return c.authenticated(ctx, r, func(session *Session) (status int, err error) {
		if c.options.RequestTimeout < 0 {
			return c.exchange(ctx, session, r, read)
		}
		limited, cancel := context.WithTimeout(ctx, c.options.RequestTimeout)
		defer cancel()
		return c.exchange(limited, session, r, read)
	})
}

func (c *Client) exchange(ctx context.Context, session *Session, r Request, read func(*http.Response) error) (status int, err error) {
	resp, err := c.send(ctx, session, r)
	if err != nil {
		return 0, networkError(r, err)
	}
	defer func() { _ = resp.Body.Close() }() // everything of interest has been read
	if err := failure(r, resp); err != nil {
		return resp.StatusCode, err
	}
	if err := read(resp); err != nil {
		return resp.StatusCode, networkError(r, err)
	}
	return resp.StatusCode, nil
}

// send starts an exchange. The context governs the reading of the response too.
func (c *Client) send(ctx context.Context, session *Session, r Request) (*http.Response, error) {
	var body io.Reader
	if r.Body != nil {
		body = bytes.NewReader(r.Body)
	}
	req, err := http.NewRequestWithContext(ctx, r.Method, session.server+r.Path, body)
	if err != nil {
		return nil, fmt.Errorf("request: %w", err)
	}
	accept := r.Accept
	if accept == "" {
		accept = "application/json"
	}
	req.Header.Set("Accept", accept)
	req.Header.Set("User-Agent", c.options.UserAgent)
	if r.ContentType != "" {
		req.Header.Set("Content-Type", r.ContentType)
	}
	resp, err := session.client.Do(req)
	if err != nil {
		return nil, err
	}
	c.warn(resp.Header)
	return resp, nil
}

// failure reads the error out of a response that tells one.
func failure(r Request, resp *http.Response) error {
	if resp.StatusCode >= 200 && resp.StatusCode < 300 {
		return nil
	}
	// A body that cannot be read leaves what the code says.
	body, _ := io.ReadAll(io.LimitReader(resp.Body, errorBodyLimit))
	return statusError(r, resp, body)
}

// authenticated makes one attempt, and repeats it with other credentials if the cluster
// rejects those it was made with.
func (c *Client) authenticated(ctx context.Context, r Request, attempt func(*Session) (status int, err error)) error {
	session, err := c.source.Current(ctx)
	if err != nil {
		return fmt.Errorf("%s %s: %w", r.Method, r.Path, err)
	}
	for logins := 0; ; logins++ {
		begin := time.Now()
		status, err := attempt(session)
		c.observe(r, status, err, begin)
		if status != http.StatusUnauthorized {
			return err
		}
		c.source.Invalidate(session, err)
		if logins == maxLogins {
			return err
		}
		next, loginErr := c.source.Current(ctx)
		if loginErr != nil {
			return fmt.Errorf("%w: %w", loginErr, err)
		}
		if next == session {
			return err
		}
		session = next
	}
}

func (c *Client) observe(r Request, status int, err error, begin time.Time) {
	if c.options.Observe == nil {
		return
	}
	c.options.Observe(Call{Method: r.Method, Verb: r.verb(), Path: r.Path, Status: status, Err: err, Duration: time.Since(begin)})
}
