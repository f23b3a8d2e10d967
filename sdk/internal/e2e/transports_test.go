package e2e

import (
	"bufio"
	"io"
	"net/http"
	"time"
)

// roundTrip is a function as a transport.
type roundTrip func(*http.Request) (*http.Response, error)

// RoundTrip calls the function.
func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func isWatch(req *http.Request) bool { return req.URL.Query().Get("watch") != "" }

// delayedWatch makes every event of a watch arrive later than it happens.
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

// delayLines passes lines on after a while, each counted from its own arrival.
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

// Close ends both sides.
func (d *delayed) Close() error {
	select {
	case <-d.done:
	default:
		close(d.done)
	}
	_ = d.PipeReader.Close() // never fails
	return d.body.Close()
}

// copyLines passes lines on, as they are changed, until there is an error.
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
