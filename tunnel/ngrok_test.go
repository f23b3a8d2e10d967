package tunnel

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// openNgrok opens the way and serves its connections.
func openNgrok(t *testing.T, n Ngrok) *Entrance {
	t.Helper()
	e, err := n.Open(context.WithoutCancel(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		fmt.Fprintf(w, "%s %s", r.URL.Path, body)
	})}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(e.Listener) })
	t.Cleanup(func() {
		_ = server.Close()
		if err := e.Release(context.Background()); err != nil {
			t.Error(err)
		}
		serving.Wait()
	})
	return e
}

// call sends a request to the public endpoint.
func (s *ngrokServer) call(path, body string) (string, error) {
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: s.roots}, DisableKeepAlives: true}, Timeout: 2 * time.Minute}
	response, err := client.Post(s.url+path, "application/json", strings.NewReader(body))
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	return string(answer), err
}

func TestNgrok_ForwardsRequestsOfPublicAddress(t *testing.T) {
	server := newNgrokServer(t)
	e := openNgrok(t, server.way("good"))
	if e.Target.URL != server.url || !e.Plain {
		t.Errorf("the target is %s, plain %v", e.Target.URL, e.Plain)
	}
	body := strings.Repeat("x", 3<<20) // larger than the window of a stream
	var all sync.WaitGroup
	for i := range 10 {
		all.Go(func() {
			path := fmt.Sprintf("/%d", i)
			if got, err := server.call(path, body); err != nil || got != path+" "+body {
				t.Errorf("%s: %d bytes, %v", path, len(got), err)
			}
		})
	}
	all.Wait()
}

func TestNgrok_AsksForDomain(t *testing.T) {
	server := newNgrokServer(t)
	n := server.way("good")
	n.Domain = "claims.ngrok.example"
	openNgrok(t, n)
	if got := (<-server.connection).domain; !strings.Contains(got, "claims.ngrok.example") {
		t.Errorf("it asks for %q", got)
	}
}

func TestNgrok_RefusedTokenIsReportedAtOnce(t *testing.T) {
	server := newNgrokServer(t)
	_, err := server.way("bad").Open(t.Context())
	refused, ok := errors.AsType[*NgrokError](err)
	if !ok || refused.Code != "ERR_NGROK_105" {
		t.Fatalf("the error is %v", err)
	}
	want := "connect to ngrok: ngrok: The authtoken you specified does not look like a proper ngrok authtoken. Your authtoken: bad (ERR_NGROK_105, see https://ngrok.com/docs/errors/err_ngrok_105)"
	if err.Error() != want {
		t.Errorf("the error is %q", err)
	}
}

func TestNgrok_RefusedEndpointIsReported(t *testing.T) {
	server := newNgrokServer(t)
	server.bindError = "The endpoint 'https://claims.ngrok.example' is already online.\n\nERR_NGROK_334"
	_, err := server.way("good").Open(t.Context())
	refused, ok := errors.AsType[*NgrokError](err)
	if !ok || refused.Code != "ERR_NGROK_334" || !strings.Contains(err.Error(), "is already online.") || strings.Contains(err.Error(), "\n") {
		t.Errorf("the error is %q", err)
	}
}

func TestNgrok_TokenIsRequired(t *testing.T) {
	if _, err := (Ngrok{}).Open(t.Context()); err == nil || !strings.Contains(err.Error(), "NGROK_AUTHTOKEN") {
		t.Errorf("the error is %v", err)
	}
}

func TestNgrok_UnreachableServiceIsReported(t *testing.T) {
	server := newNgrokServer(t)
	n := server.way("good")
	n.Server = fmt.Sprintf("127.0.0.1:%d", closedPort(t))
	n.patience = 5 * time.Second // it is refused before that
	if _, err := n.Open(t.Context()); err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("the error is %v", err)
	}
}

func TestNgrok_ReconnectsWithSameAddress(t *testing.T) {
	server := newNgrokServer(t)
	e := openNgrok(t, server.way("good"))
	<-server.connection
	for n := range 2 {
		server.drop()
		<-server.connection // the client has bound the endpoint again
		awaitLink(t, e.Link, func() bool {
			losses, last := e.Link.history()
			return losses > n && e.Link.state() == nil && strings.HasPrefix(last.Error(), "the connection to ngrok: ")
		})
		if got, err := server.call("/again", "x"); err != nil || got != "/again x" {
			t.Errorf("%q, %v", got, err)
		}
	}
	if e.Target.URL != server.url {
		t.Errorf("the target is %s", e.Target.URL)
	}
}

// awaitLink waits until a condition of the link holds.
func awaitLink(t *testing.T, l *Link, holds func() bool) {
	t.Helper()
	late := time.After(time.Minute)
	for !holds() {
		select {
		case <-l.changes():
		case <-late:
			t.Fatalf("the link is %v", l.state())
		}
	}
}
