package cloud

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// Client sends requests to a cloud. It is safe for concurrent use.
type Client struct {
	URL string
}

// ErrNotFound is the error for a bucket that does not exist.
var ErrNotFound = errors.New("the bucket does not exist")

// CreateBucket creates a bucket, and returns its id. A request with the same key returns the same bucket.
func (c *Client) CreateBucket(ctx context.Context, key, size string) (id string, err error) {
	err = c.do(ctx, http.MethodPost, "/buckets", key, size, &id)
	return id, err
}

// FindBucket returns the bucket that was created with a key; false if there is none.
func (c *Client) FindBucket(ctx context.Context, key string) (id string, ok bool, err error) {
	err = c.do(ctx, http.MethodGet, "/buckets?key="+url.QueryEscape(key), "", nil, &id)
	return id, id != "", err
}

// Grant gives a reader access to a bucket. A request with the same key has no effect.
func (c *Client) Grant(ctx context.Context, key, id, reader string) error {
	return c.do(ctx, http.MethodPost, "/buckets/"+url.PathEscape(id)+"/readers", key, reader, nil)
}

// SendMail sends a mail about a bucket to a reader. Each request sends a mail.
func (c *Client) SendMail(ctx context.Context, id, reader string) error {
	return c.do(ctx, http.MethodPost, "/buckets/"+url.PathEscape(id)+"/mails", "", reader, nil)
}

// Resize changes the size of a bucket.
func (c *Client) Resize(ctx context.Context, id, size string) error {
	return c.do(ctx, http.MethodPut, "/buckets/"+url.PathEscape(id)+"/size", "", size, nil)
}

// RemoveBucket removes a bucket. It returns nil if the bucket does not exist.
func (c *Client) RemoveBucket(ctx context.Context, id string) error {
	err := c.do(ctx, http.MethodDelete, "/buckets/"+url.PathEscape(id), "", nil, nil)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// do sends a request with an optional key and body, and decodes the answer.
func (c *Client) do(ctx context.Context, method, path, key string, body, result any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, method, c.URL+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	if key != "" {
		req.Header.Set(KeyHeader, key)
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }() // it is read to its end
	text, err = io.ReadAll(answer.Body)
	switch {
	case err != nil:
		return err
	case answer.StatusCode == http.StatusNotFound:
		return ErrNotFound
	case answer.StatusCode != http.StatusOK:
		return fmt.Errorf("the cloud answers %s: %s", answer.Status, strings.TrimSpace(string(text)))
	case result == nil:
		return nil
	}
	return json.Unmarshal(text, result)
}
