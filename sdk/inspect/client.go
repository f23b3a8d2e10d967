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
	"slices"
	"strconv"
	"strings"
)

// VersionError is the error if the operator has another version of the protocol.
type VersionError struct {
	Theirs string // version of the operator; empty if the response has none
}

// Error implements the error interface.
func (e *VersionError) Error() string {
	if e.Theirs == "" {
		return "inspector: this is not an operator's inspector; check the address"
	}
	return fmt.Sprintf("inspector: the operator speaks version %s of the protocol, this program version %d; "+
		"build both with the same release of Kopf", e.Theirs, Version)
}

// UnsupportedError is the error of a request that the operator does not support, because the operator is of an older
// release.
type UnsupportedError struct{ Path string }

// Error implements the error interface.
func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("inspector: the operator does not know the request %s; build it with the release of this program", e.Path)
}

// UnreadableError is the error of an object or of events that the operator cannot read.
type UnreadableError struct{ Reason string }

// Error implements the error interface.
func (e *UnreadableError) Error() string { return e.Reason }

// RefusedError is the error of an [Intent] that the operator refused.
type RefusedError struct {
	Kind   IntentKind
	Reason string
}

// Error implements the error interface.
func (e *RefusedError) Error() string { return e.Reason }

// Client reads an operator's state. It is safe for concurrent use.
type Client struct {
	http  *http.Client
	base  string
	token func() (token, error) // nil if the operator requires no token
}

// Dial returns a client for the operator at an address, "unix:PATH" or "tcp:127.0.0.1:PORT". It does
// not connect. It returns an [*AddressError] for an invalid address.
//
// At a Unix socket, the operator must run as the same user, which is a [*PeerError] otherwise. At a TCP address,
// the client sends the token of the [TokenFile] or of the [TokenVariable].
func Dial(address string) (*Client, error) {
	network, where, err := ParseAddress(address)
	if err != nil {
		return nil, err
	}
	var dialer net.Dialer
	c := newClient(func(ctx context.Context) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, network, where)
		if err != nil {
			return nil, err
		}
		if err := CheckPeer(conn); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
		return conn, nil
	})
	if network == "tcp" {
		_, port, err := net.SplitHostPort(where)
		if err != nil {
			return nil, &AddressError{Address: address, Reason: err.Error()}
		}
		c.token = func() (token, error) { return tokenOf(port) } // a new operator has a new token
	}
	return c, nil
}

// NewClient returns a client for an operator. The client connects by the given function, for example through a port-forward
// to the operator's pod, and sends the given token. NewClient does not connect.
func NewClient(dial func(context.Context) (net.Conn, error), bearer string) *Client {
	c := newClient(dial)
	c.token = func() (token, error) { return token{text: bearer}, nil }
	return c
}

func newClient(dial func(context.Context) (net.Conn, error)) *Client {
	return &Client{base: "http://localhost", http: &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) },
		// Otherwise, a stopping operator would wait for idle connections.
		DisableKeepAlives:  true,
		DisableCompression: true,
	}}}
}

// Snapshot returns the current state of the operator.
func (c *Client) Snapshot(ctx context.Context) (*Snapshot, error) {
	body, err := c.request(ctx, http.MethodGet, SnapshotPath, nil)
	if err != nil {
		return nil, err
	}
	var s Snapshot
	err = decoder(body).Decode(&s)
	if err = errors.Join(err, body.Close()); err != nil {
		return nil, fmt.Errorf("inspector: read the snapshot: %w", err)
	}
	s.Objects = slices.DeleteFunc(s.Objects, func(o *Object) bool { return o == nil })
	return &s, nil
}

// Requests returns the operator's own requests to the API server.
func (c *Client) Requests(ctx context.Context) (*Requests, error) {
	body, err := c.request(ctx, http.MethodGet, RequestsPath, nil)
	if err != nil {
		return nil, err
	}
	var all Requests
	err = json.NewDecoder(body).Decode(&all)
	if err = errors.Join(err, body.Close()); err != nil {
		return nil, fmt.Errorf("inspector: read the requests: %w", err)
	}
	return &all, nil
}

// Index returns a page of an index: at most limit entries after offset, and at most [MaxIndexPage].
// It returns an error for an id that [Snapshot].Indices does not have.
func (c *Client) Index(ctx context.Context, id string, offset, limit int) (*IndexPage, error) {
	return c.SearchIndex(ctx, id, "", offset, limit)
}

// SearchIndex is [Client.Index] for the entries whose key or value contains all words of a text, ignoring case. Keys and values
// that are cut in an [IndexEntry] are only searched up to the cut.
func (c *Client) SearchIndex(ctx context.Context, id, search string, offset, limit int) (*IndexPage, error) {
	query := url.Values{"id": {id}, "offset": {strconv.Itoa(offset)}, "limit": {strconv.Itoa(limit)}}
	if search != "" {
		query.Set("search", search)
	}
	body, err := c.request(ctx, http.MethodGet, IndexPath+"?"+query.Encode(), nil)
	if err != nil {
		return nil, err
	}
	var page IndexPage
	err = json.NewDecoder(body).Decode(&page)
	if err = errors.Join(err, body.Close()); err != nil {
		return nil, fmt.Errorf("inspector: read the index: %w", err)
	}
	return &page, nil
}

// Object returns the API server's current version of an object of the [Snapshot]. The operator reads the object at each
// call. The error is an [*UnreadableError] if the operator cannot read the object, and an [*UnsupportedError] if the
// operator's release does not serve objects.
func (c *Client) Object(ctx context.Context, ref Ref) (map[string]any, error) {
	var content ObjectContent
	if err := c.read(ctx, ObjectPath, ref, &content); err != nil {
		return nil, err
	}
	if content.Error != "" {
		return nil, &UnreadableError{Reason: content.Error}
	}
	return content.Object, nil
}

// Events returns the Kubernetes events about an object of the [Snapshot]. It returns the same errors as
// [Client.Object].
func (c *Client) Events(ctx context.Context, ref Ref) ([]map[string]any, error) {
	var events ObjectEvents
	if err := c.read(ctx, EventsPath, ref, &events); err != nil {
		return nil, err
	}
	if events.Error != "" {
		return nil, &UnreadableError{Reason: events.Error}
	}
	return events.Events, nil
}

// Children returns the children of an object; for the zero Ref, the children of all objects, and orphans. The operator sends no
// request for it. The error is an [*UnsupportedError] if the operator's release does not serve children.
func (c *Client) Children(ctx context.Context, parent Ref) (*ChildList, error) {
	var list ChildList
	if err := c.read(ctx, ChildrenPath, parent, &list); err != nil {
		return nil, err
	}
	return &list, nil
}

// read requests an object, or something about it.
func (c *Client) read(ctx context.Context, path string, ref Ref, into any) error {
	query := url.Values{"resource": {ref.Resource}, "namespace": {ref.Namespace}, "name": {ref.Name}, "uid": {ref.UID}}
	body, err := c.request(ctx, http.MethodGet, path+"?"+query.Encode(), nil)
	if e, ok := errors.AsType[*statusError](err); ok && e.code == http.StatusNotFound {
		return &UnsupportedError{Path: path}
	}
	if err != nil {
		return err
	}
	err = decoder(body).Decode(into)
	if err = errors.Join(err, body.Close()); err != nil {
		return fmt.Errorf("inspector: read %s of %s: %w", path, ref.Name, err)
	}
	return nil
}

// Do sends an intent. It returns a [*RefusedError] if the operator refuses the intent.
func (c *Client) Do(ctx context.Context, in Intent) error {
	text, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("inspector: encode the intent: %w", err)
	}
	body, err := c.request(ctx, http.MethodPost, IntentsPath, bytes.NewReader(text))
	if err != nil {
		return err
	}
	var reply Reply
	err = json.NewDecoder(body).Decode(&reply)
	if err = errors.Join(err, body.Close()); err != nil {
		return fmt.Errorf("inspector: read the reply: %w", err)
	}
	if !reply.OK {
		return &RefusedError{Kind: in.Kind, Reason: reply.Error}
	}
	return nil
}

// Messages yields the messages of the stream. The stream ends after the message with Bye, or with an error.
func (c *Client) Messages(ctx context.Context) iter.Seq2[Message, error] {
	return func(yield func(Message, error) bool) {
		body, err := c.request(ctx, http.MethodGet, StreamPath, nil)
		if err != nil {
			yield(Message{}, err)
			return
		}
		// An error of closing is irrelevant, because the stream has already ended.
		defer func() { _ = body.Close() }()
		messages := decoder(body)
		for {
			var m Message
			if err := messages.Decode(&m); err != nil {
				if errors.Is(err, io.EOF) {
					err = io.ErrUnexpectedEOF // the operator was killed
				}
				yield(Message{}, fmt.Errorf("inspector: read the stream: %w", err))
				return
			}
			if !yield(m, nil) || m.Bye != nil {
				return
			}
		}
	}
}

// Stream yields the current state of the operator, and the new state after each change. The snapshots are immutable, and share
// their unchanged parts. The stream ends like [Client.Messages].
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

// request returns the body of a successful response.
func (c *Client) request(ctx context.Context, method, path string, body io.Reader) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return nil, fmt.Errorf("inspector: %w", err)
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	var sent token
	if c.token != nil {
		if sent, err = c.token(); err != nil {
			return nil, err
		}
		request.Header.Set("Authorization", "Bearer "+sent.text)
	}
	response, err := c.http.Do(request)
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err // without the message of e, which has an internal URL
	}
	if err != nil {
		return nil, fmt.Errorf("inspector: %w", err)
	}
	if theirs := response.Header.Get(VersionHeader); theirs != strconv.Itoa(Version) {
		return nil, errors.Join(&VersionError{Theirs: theirs}, response.Body.Close())
	}
	if response.StatusCode != http.StatusOK {
		text, err := io.ReadAll(io.LimitReader(response.Body, 1024))
		if err = errors.Join(err, response.Body.Close()); err != nil {
			return nil, fmt.Errorf("inspector: %s: %w", response.Status, err)
		}
		reason := strings.TrimSpace(string(text))
		if response.StatusCode == http.StatusUnauthorized && sent.origin != "" {
			reason += "; " + sent.origin
		}
		return nil, &statusError{code: response.StatusCode, text: "inspector: " + response.Status + ": " + reason}
	}
	return response.Body, nil
}

// statusError is the error of a response with another status than 200.
type statusError struct {
	code int
	text string
}

func (e *statusError) Error() string { return e.text }

// decoder keeps numbers of unknown types in their JSON notation, because large numbers would lose digits as floating point.
func decoder(r io.Reader) *json.Decoder {
	d := json.NewDecoder(bufio.NewReaderSize(r, 64<<10))
	d.UseNumber()
	return d
}
