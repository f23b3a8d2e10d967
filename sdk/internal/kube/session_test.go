package kube

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"
)

// connections counts those of a server.
type connections struct {
	opened atomic.Int32
	closed chan struct{} // one each
}

func (c *connections) of(handler http.HandlerFunc) *httptest.Server {
	c.closed = make(chan struct{}, 10)
	server := httptest.NewUnstartedServer(handler)
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			c.opened.Add(1)
		case http.StateClosed:
			c.closed <- struct{}{}
		}
	}
	server.Start()
	return server
}

func TestConnectingTakesHalfAMinuteAtMostUnlessToldOtherwise(t *testing.T) {
	for told, want := range map[time.Duration]time.Duration{0: 30 * time.Second, time.Second: time.Second, -1: 0} {
		if got := dialer(told).Timeout; got != want {
			t.Errorf("%s: %s", told, got)
		}
	}
}

func TestSessionsShareNoConnections(t *testing.T) {
	var conns connections
	server := conns.of(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, example) })
	defer server.Close()
	for range 2 {
		session, err := NewSession(&rest.Config{Host: server.URL}, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer session.Close()
		for range 3 {
			if _, err := NewClient(Fixed(session), ClientOptions{}).Get(t.Context(), examples, "ns", "n"); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := conns.opened.Load(); n != 2 {
		t.Errorf("%d connections", n)
	}
}

func TestTheConnectionOfAClosedSessionGoesWithItsLastStream(t *testing.T) {
	var conns connections
	proceed := make(chan struct{})
	server := conns.of(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).Flush()
		select {
		case <-proceed:
			_, _ = io.WriteString(w, `{"type":"ADDED","object":`+example+"}\n")
		case <-r.Context().Done():
		}
	})
	defer server.Close()
	session, err := NewSession(&rest.Config{Host: server.URL}, 0)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := NewClient(Fixed(session), ClientOptions{}).Watch(t.Context(), examples, "ns", ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	session.Close()
	close(proceed)
	if frame, err := stream.Next(); err != nil || frame.Object.Name != "n" {
		t.Fatal(frame, err)
	}
	if _, err := stream.Next(); err != io.EOF {
		t.Error(err)
	}
	stream.Close()
	for range conns.opened.Load() {
		select {
		case <-conns.closed:
		case <-time.After(10 * time.Second):
			t.Fatal("the connection is kept")
		}
	}
}

func TestAGivenConfigurationIsLookedUpAgainIfItCanChange(t *testing.T) {
	var valid atomic.Value
	valid.Store("old")
	server := guardedServer(t, &valid, "")
	file := filepath.Join(t.TempDir(), "token")
	write := func(token string) {
		if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("old")
	for token, config := range map[string]*rest.Config{
		"new": {Host: server.URL, BearerTokenFile: file},
		"old": {Host: server.URL, BearerToken: "old"},
	} {
		valid.Store("old")
		given, err := NewGiven(config, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer given.Close()
		first, _ := given.Current(t.Context())
		client := NewClient(given, ClientOptions{})
		if _, err := client.Do(t.Context(), Request{Method: http.MethodGet, Path: "/"}); err != nil {
			t.Error(err)
		}
		write("new")
		valid.Store("new")
		_, err = client.Do(t.Context(), Request{Method: http.MethodGet, Path: "/"})
		second, _ := given.Current(t.Context())
		if changed := token == "new"; (err == nil) != changed || (first != second) != changed {
			t.Error(token, err, first == second)
		}
		given.Invalidate(first, nil) // somebody is late with that
		if third, _ := given.Current(t.Context()); third != second {
			t.Error("a session was thrown away that nobody has complained about")
		}
		write("old")
	}
}

func TestRepetitionsAreToldOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, _ := clientFor(t, ClientOptions{}, respond(500, ""), respond(503, ""), respond(200, example))
		var told []Retry
		telling := client.Telling(func(r Retry) { told = append(told, r) })
		if _, err := telling.Get(t.Context(), examples, "ns", "n"); err != nil {
			t.Fatal(err)
		}
		if len(told) != 2 || told[0].Attempt != 1 || told[1].Attempt != 2 || Status(told[1].Err) != 503 || told[1].Delay != time.Second {
			t.Errorf("%+v", told)
		}
	})
}

func TestProxiesTellConfigurationsApart(t *testing.T) {
	through := func(address string) string {
		proxy, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		key, _ := Identify(&rest.Config{Host: "https://x", BearerToken: "a", Proxy: http.ProxyURL(proxy)})
		return key
	}
	direct, _ := Identify(&rest.Config{Host: "https://x", BearerToken: "a"})
	one, same, other := through("http://p"), through("http://p"), through("http://q")
	if one == "" || one != same || one == other || one == direct {
		t.Error(one, same, other, direct)
	}
}
