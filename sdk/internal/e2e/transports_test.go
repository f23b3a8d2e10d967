package e2e

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// heldBack drops some of the events of watches.
func heldBack(which func(line string) bool) func(http.RoundTripper) http.RoundTripper {
	return func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(req *http.Request) (*http.Response, error) {
			resp, err := next.RoundTrip(req)
			if err == nil && isWatch(req) {
				resp.Body = mapLines(resp.Body, func(line string) (string, error) {
					if which(line) {
						return "", nil
					}
					return line, nil
				})
			}
			return resp, err
		})
	}
}

// mapLines changes the lines of a body, or drops them if nothing is left of them.
func mapLines(body io.ReadCloser, change func(string) (string, error)) io.ReadCloser {
	pr, pw := io.Pipe()
	go func() { pw.CloseWithError(copyLines(pw, body, change)) }()
	return struct {
		io.Reader
		io.Closer
	}{pr, closers{pr, body}}
}

type closers []io.Closer

// Close closes all.
func (c closers) Close() error {
	var errs []error
	for _, one := range c {
		errs = append(errs, one.Close())
	}
	return errors.Join(errs...)
}

// slowly delays all requests for a resource.
func slowly(plural string) func(http.RoundTripper) http.RoundTripper {
	return func(base http.RoundTripper) http.RoundTripper {
		return roundTrip(func(r *http.Request) (*http.Response, error) {
			if strings.HasSuffix(r.URL.Path, "/"+plural) {
				time.Sleep(300 * time.Millisecond)
			}
			return base.RoundTrip(r)
		})
	}
}

// barrier holds back the requests for a resource while it is locked, unless they are cancelled.
type barrier struct {
	plural string

	mu     sync.Mutex
	opened chan struct{} // nil if it is open
}

func (b *barrier) lock() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.opened = make(chan struct{})
}

func (b *barrier) unlock() {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.opened)
	b.opened = nil
}

func (b *barrier) pass(ctx context.Context) error {
	b.mu.Lock()
	opened := b.opened
	b.mu.Unlock()
	if opened == nil {
		return nil
	}
	select {
	case <-opened:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (b *barrier) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTrip(func(req *http.Request) (*http.Response, error) {
		if strings.HasSuffix(req.URL.Path, "/"+b.plural) {
			if err := b.pass(req.Context()); err != nil {
				return nil, err
			}
		}
		return next.RoundTrip(req)
	})
}

// roundTrip is a function as a transport.
type roundTrip func(*http.Request) (*http.Response, error)

// RoundTrip calls the function.
func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func isWatch(req *http.Request) bool { return req.URL.Query().Get("watch") != "" }

// delayedWatch delays all events of watches.
func delayedWatch(delay time.Duration) func(http.RoundTripper) http.RoundTripper {
	return func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(req *http.Request) (*http.Response, error) {
			resp, err := next.RoundTrip(req)
			if err != nil || !isWatch(req) {
				return resp, err
			}
			resp.Body = delayLines(resp.Body, delay)
			return resp, nil
		})
	}
}

// delayLines delays each line by the same time.
func delayLines(body io.ReadCloser, delay time.Duration) io.ReadCloser {
	type line struct {
		text []byte
		err  error
		due  time.Time
	}
	lines, done := make(chan line, 1000), make(chan struct{})
	go func() {
		defer close(lines)
		r := bufio.NewReader(body)
		for {
			text, err := r.ReadBytes('\n')
			select {
			case lines <- line{text, err, time.Now().Add(delay)}:
			case <-done:
				return
			}
			if err != nil {
				return
			}
		}
	}()
	pr, pw := io.Pipe()
	go func() {
		for l := range lines {
			timer := time.NewTimer(time.Until(l.due))
			select {
			case <-timer.C:
			case <-done:
				timer.Stop()
				return
			}
			if _, err := pw.Write(l.text); err != nil {
				return
			}
			if l.err != nil {
				pw.CloseWithError(l.err)
				return
			}
		}
	}()
	return &delayed{pr, body, done}
}

type delayed struct {
	*io.PipeReader
	body io.Closer
	done chan struct{}
}

// Close closes both sides.
func (d *delayed) Close() error {
	select {
	case <-d.done:
	default:
		close(d.done)
	}
	_ = d.PipeReader.Close() // never fails
	return d.body.Close()
}

// copyLines copies lines, as they are changed, until there is an error.
func copyLines(to io.Writer, from io.Reader, change func(string) (string, error)) error {
	r := bufio.NewReader(from)
	for {
		text, err := r.ReadString('\n')
		if text != "" {
			changed, failed := change(text)
			if _, err := io.WriteString(to, changed); err != nil {
				return err
			}
			if failed != nil {
				return failed
			}
		}
		if err != nil {
			return err
		}
	}
}

// breaker ends the watches of the examples on demand.
type breaker struct {
	mu      sync.Mutex
	open    []chan string // one for each watch: what to say at its end
	watches atomic.Int32
	lists   atomic.Int32
}

// end breaks all watches that are open now, after an event if there is one.
func (b *breaker) end(lastWords string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, one := range b.open {
		one <- lastWords
	}
	b.open = nil
}

func (b *breaker) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTrip(func(req *http.Request) (*http.Response, error) {
		resp, err := next.RoundTrip(req)
		if err != nil || !strings.HasSuffix(req.URL.Path, "/kopfexamples") || req.Method != http.MethodGet {
			return resp, err
		}
		if !isWatch(req) {
			b.lists.Add(1)
			return resp, nil
		}
		if req.URL.Query().Get("sendInitialEvents") != "" {
			b.lists.Add(1)
		}
		b.watches.Add(1)
		end := make(chan string, 1)
		b.mu.Lock()
		b.open = append(b.open, end)
		b.mu.Unlock()
		pr, pw := io.Pipe()
		body := resp.Body
		go func() { pw.CloseWithError(copyLines(pw, body, func(line string) (string, error) { return line, nil })) }()
		closed := make(chan struct{})
		go func() {
			select {
			case words := <-end:
				_, _ = io.WriteString(pw, words) // fails if the reader has gone
				pw.CloseWithError(errors.New("connection reset by peer"))
			case <-closed:
			}
		}()
		resp.Body = struct {
			io.Reader
			io.Closer
		}{pr, closers{pr, body, closing(sync.OnceFunc(func() { close(closed) }))}}
		return resp, nil
	})
}

// closing is a function as a closer.
type closing func()

// Close calls the function.
func (c closing) Close() error {
	c()
	return nil
}

const expired = `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","message":"too old resource version","reason":"Expired","code":410}}` + "\n"
