package watch

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

var examples = &resources.Resource{Group: "kopf.dev", Version: "v1", Plural: "kopfexamples", Kind: "KopfExample", Namespaced: true}

// api is a server in virtual time: the test takes requests one by one and answers them.
type api struct{ requests chan *exchange }

type exchange struct {
	*http.Request
	reply chan reply
}

type reply struct {
	resp *http.Response
	err  error
}

func (a *api) RoundTrip(r *http.Request) (*http.Response, error) {
	e := &exchange{Request: r, reply: make(chan reply, 1)}
	select {
	case a.requests <- e:
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	select {
	case got := <-e.reply:
		return got.resp, got.err
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

func (a *api) CloseIdleConnections() {}

// respond answers with a whole response.
func (e *exchange) respond(code int, body string, header ...string) {
	resp := &http.Response{StatusCode: code, Header: http.Header{}, Body: io.NopCloser(bytes.NewBufferString(body))}
	for i := 0; i < len(header); i += 2 {
		resp.Header.Set(header[i], header[i+1])
	}
	e.reply <- reply{resp: resp}
}

func (e *exchange) refuse() { e.reply <- reply{err: syscall.ECONNREFUSED} }

// connection is an open stream, from the server's side.
type connection struct {
	t *testing.T
	w *io.PipeWriter
}

func (e *exchange) stream(t *testing.T) *connection {
	t.Helper()
	if e.URL.Query().Get("watch") != "true" {
		t.Fatalf("not a watch: %s", e.URL)
	}
	r, w := io.Pipe()
	stop := context.AfterFunc(e.Context(), func() { _ = r.CloseWithError(e.Context().Err()) })
	t.Cleanup(func() { stop(); _ = w.Close() })
	e.reply <- reply{resp: &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: r}}
	return &connection{t: t, w: w}
}

func (c *connection) send(kind, object string) {
	if _, err := fmt.Fprintf(c.w, `{"type":%q,"object":%s}`+"\n", kind, object); err != nil {
		c.t.Errorf("the client does not listen: %v", err)
	}
}

// listed sends the beginning of a streamed list: the objects, and the bookmark that ends the initial events.
func (c *connection) listed(version string, objects ...string) {
	for _, o := range objects {
		c.send("ADDED", o)
	}
	c.send("BOOKMARK", `{"kind":"KopfExample","metadata":{"resourceVersion":"`+version+`","annotations":{"k8s.io/initial-events-end":"true"}}}`)
}

func (c *connection) bookmark(version string) {
	c.send("BOOKMARK", `{"kind":"KopfExample","metadata":{"resourceVersion":"`+version+`"}}`)
}

func (c *connection) end()           { _ = c.w.Close() }
func (c *connection) drop(err error) { _ = c.w.CloseWithError(err) }

func rawObject(name, version string) string {
	return fmt.Sprintf(`{"apiVersion":"kopf.dev/v1","kind":"KopfExample","metadata":{"name":%q,"namespace":"ns","uid":"uid-of-%s","resourceVersion":%q}}`, name, name, version)
}

func status(code int, reason string) string {
	return fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"as the test says","reason":%q,"code":%d}`, reason, code)
}

// answerTimeout is how long the requests of the tests wait for the beginning of their responses.
const answerTimeout = 30 * time.Second

// watched is a running stream with its recorded events and restarts.
type watched struct {
	*api
	t    *testing.T
	stop context.CancelFunc
	done chan struct{}

	pause time.Duration // duration of each call of the handler

	mu       sync.Mutex
	events   []string
	restarts []Restart
	lists    []int
}

// follow runs a test in virtual time with a stream, which is stopped at the end.
func follow(t *testing.T, options Options, test func(w *watched)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		w := &watched{t: t, api: &api{requests: make(chan *exchange)}, stop: cancel, done: make(chan struct{})}
		source, err := kube.NewConfigSource(&rest.Config{Host: "http://cluster.test", Transport: w.api}, 0)
		if err != nil {
			t.Fatal(err)
		}
		options.Client, options.Resource = kube.NewClient(source, kube.ClientOptions{AnswerTimeout: answerTimeout}), examples
		options.Handle = w.handle
		options.Listed = func(n int) { w.mu.Lock(); defer w.mu.Unlock(); w.lists = append(w.lists, n) }
		options.Restarted = func(r Restart) { w.mu.Lock(); defer w.mu.Unlock(); w.restarts = append(w.restarts, r) }
		go func() {
			defer close(w.done)
			Run(ctx, options)
		}()
		test(w)
		begin := time.Now()
		cancel()
		<-w.done
		if took := time.Since(begin); took != 0 {
			t.Errorf("the stop took %s", took)
		}
	})
}

func (w *watched) handle(e Event) {
	time.Sleep(w.pause)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, e.Type+" "+e.Object.Name+"@"+e.Object.ResourceVersion)
}

// next waits for a request.
func (w *watched) next() *exchange {
	w.t.Helper()
	select {
	case e := <-w.requests:
		return e
	case <-time.After(24 * time.Hour):
		w.t.Fatal("no request")
		return nil
	}
}

// version is where a request continues from.
func (e *exchange) version() string { return e.URL.Query().Get("resourceVersion") }

func (e *exchange) streamedList() bool { return e.URL.Query().Get("sendInitialEvents") == "true" }

// expect checks the events since its last call.
func (w *watched) expect(events ...string) {
	w.t.Helper()
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	if got, want := strings.Join(w.events, "\n"), strings.Join(events, "\n"); got != want {
		w.t.Errorf("events:\n%s\nexpected:\n%s", got, want)
	}
	w.events = nil
}

// interrupted returns the only restart since its last call.
func (w *watched) interrupted(reason Reason) Restart {
	w.t.Helper()
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.restarts) != 1 || w.restarts[0].Reason != reason {
		w.t.Fatalf("interruptions: %+v; expected: %s", w.restarts, reason)
	}
	r := w.restarts[0]
	w.restarts = nil
	return r
}

func (w *watched) undisturbed() {
	w.t.Helper()
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.restarts) != 0 {
		w.t.Fatalf("interruptions: %+v", w.restarts)
	}
}

// start brings the stream to where it has listed one object.
func (w *watched) start() *connection {
	w.t.Helper()
	c := w.next().stream(w.t)
	c.listed("10", rawObject("a", "5"))
	w.expect(" a@5")
	w.undisturbed()
	time.Sleep(time.Second) // the reflector relists after streams that end earlier
	return c
}
