package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/sdk/internal/testcluster"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

// breaker ends the watches of the examples on demand.
type breaker struct {
	mu      sync.Mutex
	open    []chan string // one for each watch: what to say at its end
	watches atomic.Int32
	lists   atomic.Int32
}

// end ends all watches that are open now. They say something at the end, if there is
// anything to say; else they just break.
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
				_, _ = io.WriteString(pw, words) // fails if nobody listens
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

func TestNothingIsLostWhenWatchesBreak(t *testing.T) {
	for name, words := range map[string]string{"dropped": "", "410 Gone": expired} {
		t.Run(name, func(t *testing.T) {
			w, c, b := newWorld(t), &calls{}, &breaker{}
			op := w.run(func(r *kopf.Registry) {
				kopf.OnCreate(r, kexes, func(_ context.Context, r *change) error {
					c.add("created " + r.Name)
					return nil
				}, kopf.ID("created"))
				kopf.OnUpdate(r, kexes, func(_ context.Context, r *change) error {
					c.add("updated " + r.Name)
					return nil
				}, kopf.ID("updated"))
				kopf.OnResume(r, kexes, c.does("resumed"), kopf.ID("resumed"))
			}, setup{wrap: b.wrap})
			w.create(example("changed"))
			w.create(example("deleted"))
			w.untilHandled("changed")
			w.untilHandled("deleted")
			const times = 3
			for i := range times {
				b.end(words)
				w.patch("changed", tree{"spec": tree{"field": fmt.Sprint(i)}})
				w.create(example(fmt.Sprintf("new-%d", i)))
				c.wait(t, "updated changed", i+1)
				c.wait(t, fmt.Sprintf("created new-%d", i), 1)
			}
			w.delete("deleted")
			op.journal.wait(t, "really deleted", 1)
			w.untilHandled("changed")
			if n := c.count("updated changed"); n != times {
				t.Errorf("updated %d times instead of %d", n, times)
			}
			if n := c.count("resumed"); n != 0 {
				t.Errorf("%d objects were resumed by an operator that has run all the time", n)
			}
			if n := b.watches.Load(); n > 4*times {
				t.Errorf("%d watches for %d breaks", n, times)
			}
		})
	}
}

// outage is a way to the control plane that can be shut.
type outage struct {
	t      *testing.T
	target string
	addr   string

	mu       sync.Mutex
	listener net.Listener
	open     map[net.Conn]bool
	accepted atomic.Int32
	relays   sync.WaitGroup
}

func newOutage(t *testing.T, config *rest.Config) (*outage, *rest.Config) {
	t.Helper()
	server, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	o := &outage{t: t, target: server.Host, addr: "127.0.0.1:0", open: map[net.Conn]bool{}}
	o.begin()
	t.Cleanup(func() {
		o.shut()
		o.relays.Wait()
	})
	config = rest.CopyConfig(config)
	config.Host = "https://" + o.addr
	config.TLSClientConfig.ServerName = server.Hostname()
	return o, config
}

func (o *outage) begin() {
	o.t.Helper()
	listener, err := net.Listen("tcp", o.addr)
	if err != nil {
		o.t.Fatal(err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.listener, o.addr = listener, listener.Addr().String()
	o.relays.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			o.accepted.Add(1)
			o.relays.Go(func() { o.relay(conn) })
		}
	})
}

func (o *outage) relay(conn net.Conn) {
	defer conn.Close() //nolint:errcheck // nothing is lost
	server, err := net.Dial("tcp", o.target)
	if err != nil {
		return
	}
	defer server.Close() //nolint:errcheck // nothing is lost
	o.mu.Lock()
	o.open[conn] = true
	o.mu.Unlock()
	var wg sync.WaitGroup
	wg.Go(func() {
		_, _ = io.Copy(server, conn) // ends with either connection
		_ = server.Close()
	})
	wg.Go(func() {
		_, _ = io.Copy(conn, server)
		_ = conn.Close()
	})
	wg.Wait()
	o.mu.Lock()
	delete(o.open, conn)
	o.mu.Unlock()
}

// shut breaks all connections and refuses new ones.
func (o *outage) shut() {
	o.mu.Lock()
	defer o.mu.Unlock()
	_ = o.listener.Close() // may be closed already
	for conn := range o.open {
		_ = conn.Close()
	}
}

func TestNothingIsLostWhenTheServerRestarts(t *testing.T) {
	w, c := newWorld(t), &calls{}
	way, config := newOutage(t, testcluster.Config(t))
	var requests atomic.Int32
	inHandler, proceed := make(chan struct{}), make(chan struct{})
	op := w.run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, func(_ context.Context, r *change) error {
			c.add("created " + r.Name)
			if r.Name == "interrupted" {
				close(inHandler)
				<-proceed
			}
			return nil
		}, kopf.ID("created"))
		kopf.OnDelete(r, kexes, func(_ context.Context, r *change) error {
			c.add("deleted " + r.Name)
			return nil
		}, kopf.ID("deleted"))
	}, setup{config: config, wrap: func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(req *http.Request) (*http.Response, error) {
			requests.Add(1)
			return next.RoundTrip(req)
		})
	}})
	w.create(example("before"))
	w.untilHandled("before")
	w.create(example("interrupted"))
	<-inHandler
	way.shut()
	before := requests.Load()
	close(proceed)
	w.create(example("during"))
	w.delete("before")
	op.journal.wait(t, "is interrupted", 1)
	eventually(t, "the operator has tried to come back", func() bool { return requests.Load() >= before+8 }, func() any { return requests.Load() })
	began := time.Now()
	way.begin()
	w.untilHandled("interrupted")
	w.untilHandled("during")
	w.untilGone("before")
	t.Logf("back to normal after %s, with %d requests in vain", time.Since(began).Round(time.Millisecond), requests.Load()-before)
	if n := way.accepted.Load(); n > 50 {
		t.Errorf("%d connections", n)
	}
	for _, call := range []string{"created before", "created interrupted", "created during", "deleted before"} {
		if n := c.count(call); n != 1 {
			t.Errorf("%s %d times", call, n)
		}
	}
}
