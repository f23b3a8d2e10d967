package inspect

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// VersionError tells that an operator speaks another version of the protocol.
type VersionError struct {
	Theirs string // as they say it; empty if they speak none
}

func (e *VersionError) Error() string {
	if e.Theirs == "" {
		return "what answers there is not an operator's inspector"
	}
	return fmt.Sprintf("the operator's inspector speaks version %s of the protocol, this program version %d: "+
		"build both with the same release of Kopf", e.Theirs, Version)
}

// RefusedError tells that the operator did not do what an [Intent] asked for.
type RefusedError struct {
	Kind   IntentKind
	Reason string
}

func (e *RefusedError) Error() string { return e.Reason }

// Client reads an operator's state. It is safe for concurrent use.
type Client struct {
	http *http.Client
	base string
}

// Dial returns a client for an operator at the address, "unix:PATH" or
// "tcp:127.0.0.1:PORT". It does not connect yet.
func Dial(address string) (*Client, error) {
	network, where, err := parseAddress(address)
	if err != nil {
		return nil, err
	}
	var dialer net.Dialer
	transport := &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, network, where)
		},
		// Connections are not kept: an operator that ends would wait for idle ones.
		DisableKeepAlives:  true,
		DisableCompression: true,
	}
	return &Client{http: &http.Client{Transport: transport}, base: "http://localhost"}, nil
}

// Snapshot returns everything that is known now.
func (c *Client) Snapshot(ctx context.Context) (*Snapshot, error) {
	body, err := c.request(ctx, http.MethodGet, snapshotPath, nil)
	if err != nil {
		return nil, err
	}
	var s Snapshot
	err = decoder(body).Decode(&s)
	if err = errors.Join(err, body.Close()); err != nil {
		return nil, fmt.Errorf("inspector: reading the snapshot: %w", err)
	}
	return &s, nil
}

// Index returns a part of an index: at most so many entries, and [MaxIndexPage] at any rate,
// behind the offset. An id that [Snapshot.Indices] does not have is an error.
func (c *Client) Index(ctx context.Context, id string, offset, limit int) (*IndexPage, error) {
	query := url.Values{"id": {id}, "offset": {strconv.Itoa(offset)}, "limit": {strconv.Itoa(limit)}}
	body, err := c.request(ctx, http.MethodGet, indexPath+"?"+query.Encode(), nil)
	if err != nil {
		return nil, err
	}
	var page IndexPage
	err = json.NewDecoder(body).Decode(&page)
	if err = errors.Join(err, body.Close()); err != nil {
		return nil, fmt.Errorf("inspector: reading the index: %w", err)
	}
	return &page, nil
}

// Do asks for an intent. The error is a [*RefusedError] if the operator says no.
func (c *Client) Do(ctx context.Context, in Intent) error {
	text, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("inspector: %w", err)
	}
	body, err := c.request(ctx, http.MethodPost, intentsPath, bytes.NewReader(text))
	if err != nil {
		return err
	}
	var reply Reply
	err = json.NewDecoder(body).Decode(&reply)
	if err = errors.Join(err, body.Close()); err != nil {
		return fmt.Errorf("inspector: reading the reply: %w", err)
	}
	if !reply.OK {
		return &RefusedError{Kind: in.Kind, Reason: reply.Error}
	}
	return nil
}

// Messages yields the stream. It ends with an error, or without one after the
// operator's Bye.
func (c *Client) Messages(ctx context.Context) iter.Seq2[Message, error] {
	return func(yield func(Message, error) bool) {
		body, err := c.request(ctx, http.MethodGet, streamPath, nil)
		if err != nil {
			yield(Message{}, err)
			return
		}
		// What the stream ends with is known by then; closing it can only repeat it.
		defer func() { _ = body.Close() }()
		messages := decoder(body)
		for {
			var m Message
			if err := messages.Decode(&m); err != nil {
				if errors.Is(err, io.EOF) {
					err = io.ErrUnexpectedEOF // the operator was killed
				}
				yield(Message{}, fmt.Errorf("inspector: the stream broke: %w", err))
				return
			}
			if !yield(m, nil) || m.Bye != nil {
				return
			}
		}
	}
}

// Stream yields the state of the operator: at first, and whenever it has changed. The
// snapshots are immutable and share what did not change. It ends like
// [Client.Messages].
func (c *Client) Stream(ctx context.Context) iter.Seq2[*Snapshot, error] {
	return func(yield func(*Snapshot, error) bool) {
		var replica Replica
		for m, err := range c.Messages(ctx) {
			if err != nil {
				yield(nil, err)
				return
			}
			replica.Apply(m)
			if m.More {
				continue
			}
			if !yield(replica.Snapshot(), nil) {
				return
			}
		}
	}
}

// request returns the body of a successful answer.
func (c *Client) request(ctx context.Context, method, path string, body io.Reader) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return nil, fmt.Errorf("inspector: %w", err)
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, fmt.Errorf("inspector: %w", err)
	}
	if theirs := response.Header.Get(versionHeader); theirs != strconv.Itoa(Version) {
		return nil, errors.Join(&VersionError{Theirs: theirs}, response.Body.Close())
	}
	if response.StatusCode != http.StatusOK {
		text, err := io.ReadAll(io.LimitReader(response.Body, 1024))
		if err = errors.Join(err, response.Body.Close()); err != nil {
			return nil, fmt.Errorf("inspector: %s: %w", response.Status, err)
		}
		return nil, fmt.Errorf("inspector: %s: %s", response.Status, strings.TrimSpace(string(text)))
	}
	return response.Body, nil
}

// decoder keeps numbers of unknown types as they were written: as floating point, large
// ones would change.
func decoder(r io.Reader) *json.Decoder {
	d := json.NewDecoder(bufio.NewReaderSize(r, 64<<10))
	d.UseNumber()
	return d
}
