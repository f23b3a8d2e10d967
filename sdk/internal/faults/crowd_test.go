package faults

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// endOfSlow limits the time until a slow client gets its answer, or its connection ends. The server gives headers 10 s, and a
// body 10 s for each MiB; a busy machine adds to that.
const endOfSlow = 2 * time.Minute

// crowd are the clients that put an operator under pressure, and how that has ended.
type crowd struct {
	*testing.T
	operator *reviewedOperator

	mu      sync.Mutex
	answers map[string]int // number of each answer to each kind of client
}

func (c *crowd) count(client, answer string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answers[client+": "+answer]++
}

// counted returns the lines of the answers.
func (c *crowd) counted() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(c.answers)) {
		fmt.Fprintf(&b, "%6d × %s\n", c.answers[key], key)
	}
	return b.String()
}

// slowClient sends a beginning at once, then more bytes with pauses.
type slowClient struct {
	plain    bool // it does not even begin TLS
	begins   string
	zeros    int           // bytes of the body that follow at once
	every    time.Duration // between further bytes; zero for none
	answered bool          // a request has begun: the connection must not end without an answer
}

func headers(length int) string {
	return fmt.Sprintf("POST /field HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", length)
}

var slowClients = map[string]slowClient{
	"no handshake":        {plain: true},
	"half a handshake":    {plain: true, begins: "\x16\x03\x01\x02\x00\x01"},
	"no headers":          {},
	"slow headers":        {begins: "POST /field HTTP/1.1\r\nHost: x\r\nX-Slow: ", every: 100 * time.Millisecond},
	"no body":             {begins: headers(8 << 20), answered: true},
	"slow body":           {begins: headers(8 << 20), zeros: 100 << 10, every: 10 * time.Millisecond, answered: true},
	"slow small body":     {begins: headers(50_000), every: 100 * time.Millisecond, answered: true},
	"all but the end":     {begins: headers(8 << 20), zeros: 8<<20 - 1, answered: true},
	"chunk without size":  {begins: "POST /field HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", answered: true},
	"larger than allowed": {begins: headers(1 << 30), zeros: 1 << 20, every: 10 * time.Millisecond, answered: true},
}

// run connects again and again.
func (s slowClient) run(ctx context.Context, c *crowd, name string) {
	for ctx.Err() == nil {
		answer, err := s.once(ctx, c)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			c.Errorf("slow client, %s: %v", name, err)
			return
		}
		c.count("slow client, "+name, answer)
		pause(ctx, time.Second)
	}
}

// once returns how the server has ended one connection.
func (s slowClient) once(ctx context.Context, c *crowd) (answer string, err error) {
	dialed, err := new(net.Dialer).DialContext(ctx, "tcp", c.operator.address)
	if err != nil {
		return "", err
	}
	var sending sync.WaitGroup
	defer sending.Wait()
	defer dialed.Close()
	defer context.AfterFunc(ctx, func() { _ = dialed.Close() })()
	conn := dialed
	if !s.plain {
		encrypted := tls.Client(dialed, c.operator.tls)
		if err := encrypted.HandshakeContext(ctx); err != nil {
			return "", fmt.Errorf("shake hands: %w", err)
		}
		conn = encrypted
	}
	if err := conn.SetDeadline(time.Now().Add(endOfSlow)); err != nil {
		return "", err
	}
	sending.Go(func() { s.send(conn) })
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	var late net.Error
	switch {
	case errors.As(err, &late) && late.Timeout():
		return "", fmt.Errorf("the server has not ended the connection within %s", endOfSlow)
	case err != nil && s.answered:
		return "", fmt.Errorf("the connection has ended without an answer: %w", err)
	case err != nil:
		return "closed", nil
	}
	defer resp.Body.Close()
	return checkRefusal(resp)
}

// send sends until the connection ends.
func (s slowClient) send(conn io.Writer) {
	_, err := io.WriteString(conn, s.begins)
	if err == nil {
		_, err = conn.Write(make([]byte, s.zeros))
	}
	for err == nil && s.every > 0 {
		time.Sleep(s.every)
		_, err = io.WriteString(conn, "x")
	}
}

// checkRefusal returns the status of a response to a request that was not reviewed.
func checkRefusal(resp *http.Response) (string, error) {
	switch resp.StatusCode {
	case http.StatusTooManyRequests:
		if resp.Header.Get("Retry-After") == "" {
			return "", errors.New("429 does not say when to try again")
		}
	case http.StatusRequestTimeout, http.StatusRequestEntityTooLarge:
	default:
		return "", fmt.Errorf("answered with %s", resp.Status)
	}
	return fmt.Sprint(resp.StatusCode), nil
}

// huge sends reviews of a size at the same time: half of them must be denied. Each is repeated, as API servers do it, until
// it is reviewed. It waits for all of them.
func (c *crowd) huge(ctx context.Context, name string, n, size int, protocols *http.Protocols, kinds ...kind) {
	transport := &http.Transport{TLSClientConfig: c.operator.tls.Clone(), Protocols: protocols}
	defer transport.CloseIdleConnections()
	var wg sync.WaitGroup
	for i := range n {
		k, value := kinds[i%len(kinds)], []string{"right", "wrong"}[i/len(kinds)%2]
		wg.Go(func() {
			for {
				answer, err := c.askHuge(ctx, transport, k, value, size)
				switch {
				case ctx.Err() != nil:
					return
				case err != nil:
					c.Errorf("%s: %v", name, err)
					return
				}
				c.count(name, answer)
				if answer != "429" || !pause(ctx, time.Second) {
					return
				}
			}
		})
	}
	wg.Wait()
}

func (c *crowd) askHuge(ctx context.Context, transport *http.Transport, k kind, value string, size int) (answer string, err error) {
	body, length := hugeReview(k, value, size)
	path := map[string]string{"Typed": "/field", "Untyped": "/object"}[k.name]
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+c.operator.address+path+"?timeout=30s", body)
	if err != nil {
		return "", err
	}
	req.ContentLength = length
	req.GetBody = func() (io.ReadCloser, error) { // for streams beyond the limit of the server, which refuses them unread
		body, _ := hugeReview(k, value, size)
		return io.NopCloser(body), nil
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return "", fmt.Errorf("the connection has ended without an answer: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return checkRefusal(resp)
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return "", err
	}
	var got struct {
		Response struct {
			Allowed bool
			Status  struct{ Code int }
		}
	}
	if err := json.Unmarshal(text, &got); err != nil {
		return "", fmt.Errorf("answered with %q: %w", text, err)
	}
	if got.Response.Allowed != (value == "right") || !got.Response.Allowed && got.Response.Status.Code != http.StatusUnprocessableEntity {
		return "", fmt.Errorf("%s %s: answered with %s", value, k.name, text)
	}
	return map[bool]string{true: "admitted", false: "denied"}[got.Response.Allowed], nil
}
