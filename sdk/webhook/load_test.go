package webhook

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a listener whose connections are in memory, so that a test can have a clock of its own.
type pipes struct {
	accepted chan net.Conn
	closed   chan struct{}
	close    func()
}

func newPipes() *pipes {
	p := &pipes{accepted: make(chan net.Conn), closed: make(chan struct{})}
	p.close = sync.OnceFunc(func() { close(p.closed) })
	return p
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.accepted:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.close()
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// connect returns the client's end of a new connection.
func (p *pipes) connect(t *testing.T) net.Conn {
	t.Helper()
	ours, theirs := net.Pipe()
	t.Cleanup(func() { _ = ours.Close() })
	p.accepted <- theirs
	return ours
}

// loaded runs a server with plain HTTP on connections in memory. It must be called in a bubble of synctest.
func loaded(t *testing.T, s *Server, reviews http.HandlerFunc) *pipes {
	t.Helper()
	p := newPipes()
	s.Listener, s.URL, s.Insecure = p, "https://example.com", true
	s.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, reviews, func(ClientConfig) {}) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return p
}

// send writes the beginning of a request to a connection.
func send(t *testing.T, c net.Conn, length, sent int) {
	t.Helper()
	_, err := fmt.Fprintf(c, "POST /check HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", length, strings.Repeat("x", sent))
	if err != nil {
		t.Error(err)
	}
}

// responseOn reads the response on a connection; it returns 0 if there is none.
func responseOn(c net.Conn) int {
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return 0
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

func count(w http.ResponseWriter, req *http.Request) {
	n, err := io.Copy(io.Discard, req.Body)
	_, _ = fmt.Fprintln(w, n, err)
}

// Slow clients promise much and send little, or send much and never end.
func TestServer_FastClientsAreServedWhileSlowOnesArePending(t *testing.T) {
	const large = 1 << 20
	for name, sent := range map[string]int{"nothing": 0, "a little": 1000, "nearly all": large - 1} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := loaded(t, &Server{MaxBytes: large}, count)
				for range 2 * budgetFactor {
					slow := p.connect(t)
					go func() {
						_, _ = fmt.Fprintf(slow, "POST /check HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", large, strings.Repeat("x", sent))
						_, _ = io.Copy(io.Discard, slow)
					}()
				}
				synctest.Wait()
				for size, limit := range map[int]time.Duration{5000: 0, smallBody: 0, large: 2 * slowBody * 4} {
					began, fast := time.Now(), p.connect(t)
					send(t, fast, size, size)
					if code := responseOn(fast); code != http.StatusOK {
						t.Errorf("%d bytes: %d", size, code)
					}
					if took := time.Since(began); took > limit {
						t.Errorf("%d bytes: answered after %s", size, took)
					}
				}
			})
		})
	}
}

func TestServer_SlowRequestsEndInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := loaded(t, &Server{}, count)
		for name, sent := range map[string]string{
			"no header":   "",
			"half header": "POST /check HTTP/1.1\r\nHo",
			"no body":     "POST /check HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n",
			"half body":   "POST /check HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n12345",
		} {
			began, slow := time.Now(), p.connect(t)
			if _, err := io.WriteString(slow, sent); err != nil {
				t.Error(err)
			}
			if code := responseOn(slow); strings.Contains(sent, "Length") && code != http.StatusRequestTimeout {
				t.Errorf("%s: %d", name, code)
			}
			if took := time.Since(began); took > maxBodyTime {
				t.Errorf("%s: ended after %s", name, took)
			}
		}
	})
}

func TestServer_TruncatedRequestIsNotReviewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := loaded(t, &Server{}, func(http.ResponseWriter, *http.Request) { t.Error("half a request is reviewed") })
		cut := p.connect(t)
		send(t, cut, 10, 5)
		_ = cut.Close()
		synctest.Wait()
	})
}

func TestServer_NewConnectionReplacesUselessOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = 4
		release := make(chan struct{})
		p := loaded(t, &Server{MaxConnections: limit}, func(_ http.ResponseWriter, req *http.Request) {
			if req.URL.Path == "/slow" {
				<-release
			}
		})
		useful, answering := p.connect(t), p.connect(t)
		send(t, useful, 0, 0)
		if code := responseOn(useful); code != http.StatusOK {
			t.Fatal(code)
		}
		if _, err := io.WriteString(answering, "POST /slow HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		var silent []net.Conn
		for range 10 * limit {
			time.Sleep(time.Millisecond)
			silent = append(silent, p.connect(t))
		}
		synctest.Wait()
		open := 0
		for _, c := range silent {
			_ = c.SetReadDeadline(time.Now().Add(time.Millisecond))
			if _, err := c.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
				open++
			}
		}
		if open != limit-2 {
			t.Errorf("%d silent connections are open", open)
		}
		send(t, useful, 0, 0)
		if code := responseOn(useful); code != http.StatusOK {
			t.Errorf("the useful connection: %d", code)
		}
		close(release)
		if code := responseOn(answering); code != http.StatusOK {
			t.Errorf("the connection with a review: %d", code)
		}
		fresh := p.connect(t)
		send(t, fresh, 0, 0)
		if code := responseOn(fresh); code != http.StatusOK {
			t.Errorf("a new connection: %d", code)
		}
	})
}

func TestServer_LargeReviewsWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const large = 1 << 20
		release := make(chan struct{})
		p := loaded(t, &Server{MaxBytes: large, Timeout: 5 * time.Second}, func(http.ResponseWriter, *http.Request) { <-release })
		codes := make(chan int, 2*budgetFactor)
		for range budgetFactor + 2 {
			c := p.connect(t)
			go send(t, c, large, large)
			go func() { codes <- responseOn(c) }()
			synctest.Wait()
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		for range 2 {
			if code := <-codes; code != http.StatusTooManyRequests {
				t.Errorf("one that has waited: %d", code)
			}
		}
		close(release)
		for range budgetFactor {
			if code := <-codes; code != http.StatusOK {
				t.Errorf("one of the first: %d", code)
			}
		}
	})
}

// largest returns a maximum size of requests, above the size of small ones.
func largest() int {
	if testing.Short() {
		return 2 * smallBody
	}
	return 8 * smallBody
}

func TestServer_HTTP2StreamsAreBoundedWithAnAnswer(t *testing.T) {
	const streams = 60
	large := largest()
	size := large - large/8
	config := serve(t, &Server{MaxBytes: int64(large)}, count)
	c := client(t, config)
	body := strings.Repeat("x", size)
	codes := make(chan string, streams)
	for range streams {
		go func() {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, config.URL, strings.NewReader(body))
			if err != nil {
				codes <- err.Error()
				return
			}
			resp, err := c.Do(req)
			if err != nil {
				codes <- err.Error()
				return
			}
			resp.Body.Close()
			if resp.StatusCode == http.StatusTooManyRequests && resp.Header.Get("Retry-After") == "" {
				t.Error("it does not say when to try again")
			}
			codes <- fmt.Sprint(resp.Proto, " ", resp.StatusCode)
		}()
	}
	all := map[string]int{}
	for range streams {
		all[<-codes]++
	}
	t.Log(all)
	if all["HTTP/2.0 200"] == 0 || all["HTTP/2.0 200"]+all["HTTP/2.0 429"] != streams {
		t.Errorf("the answers are %v", all)
	}
}

func TestServer_HTTP2RequestsThatWaitDoNotBlockOthers(t *testing.T) {
	large := largest()
	began, release := make(chan struct{}, maxStreams), make(chan struct{})
	config := serve(t, &Server{MaxBytes: int64(large)}, func(_ http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/slow" {
			began <- struct{}{}
			<-release
		}
	})
	c := client(t, config)
	body := strings.Repeat("x", large)
	var wg sync.WaitGroup
	for range maxStreams - 1 {
		wg.Go(func() {
			if code, text := post(t, c, config.URL+"/slow", body); code != http.StatusOK {
				t.Errorf("%d: %s", code, text)
			}
		})
	}
	for range budgetFactor / 4 { // at least
		<-began
	}
	if code, text := post(t, c, config.URL+"/fast", "x"); code != http.StatusOK {
		t.Errorf("a small one in the same connection: %d: %s", code, text)
	}
	close(release)
	wg.Wait()
}

func TestServer_HTTP2SlowStreamIsInterruptedForOthers(t *testing.T) {
	large := largest()
	config := serve(t, &Server{MaxBytes: int64(large), Timeout: 5 * time.Second}, count)
	var wg sync.WaitGroup
	for range 2 { // each takes its share: together, all of the memory
		c := client(t, config)
		for range budgetFactor / 2 {
			wg.Go(func() {
				body, sender := io.Pipe()
				defer sender.Close()
				go func() { _, _ = io.WriteString(sender, strings.Repeat("x", large-1)) }()
				req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, config.URL, body)
				if err != nil {
					t.Error(err)
					return
				}
				req.ContentLength = int64(large)
				resp, err := c.Do(req)
				if err != nil {
					t.Error(err)
					return
				}
				resp.Body.Close()
				if resp.StatusCode != http.StatusTooManyRequests && resp.StatusCode != http.StatusRequestTimeout {
					t.Errorf("a slow one: %d", resp.StatusCode)
				}
			})
		}
	}
	if code, text := post(t, client(t, config), config.URL, strings.Repeat("x", large)); code != http.StatusOK {
		t.Errorf("%d: %s", code, text)
	}
	wg.Wait()
}
