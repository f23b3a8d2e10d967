package kopftest

import (
	"bufio"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

// client is a plain one, which repeats nothing.
type client struct {
	t    *testing.T
	http *http.Client
	base string
	maps string // the path of the ConfigMaps of the namespace
}

func newClient(t *testing.T, c *Cluster, config *rest.Config) *client {
	t.Helper()
	session, err := kube.NewSession(config, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(session.Close)
	return &client{t, &http.Client{Transport: session}, config.Host, "/api/v1/namespaces/" + c.Namespace + "/configmaps"}
}

// do returns the status, the body and the head of an answer. The status is 0 if there is none.
func (c *client) do(method, path, body string) (int, string, http.Header, error) {
	ctx, cancel := context.WithTimeout(c.t.Context(), defaultTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Accept", "application/json")
	if method == http.MethodPatch {
		req.Header.Set("Content-Type", "application/merge-patch+json")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return 0, "", nil, err
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(content), resp.Header, err
}

// lines opens a watch of the ConfigMap "x" and returns its lines as they come, except for bookmarks that may come
// at any time. They end with the stream.
func (c *client) lines(query string) <-chan string {
	req, err := http.NewRequestWithContext(c.t.Context(), http.MethodGet, c.base+c.maps+"?watch=true&fieldSelector=metadata.name%3Dx&"+query, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Accept", "application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	lines := make(chan string, 100)
	go func() {
		defer close(lines)
		defer resp.Body.Close()
		for r := bufio.NewReader(resp.Body); ; {
			text, err := r.ReadString('\n')
			if text != "" && !anyTime(text) {
				lines <- text
			}
			if err != nil {
				return
			}
		}
	}()
	return lines
}

// anyTime reports whether the server may send the line at any time: it is a bookmark that does not end the initial list.
func anyTime(line string) bool {
	return strings.HasPrefix(line, `{"type":"BOOKMARK"`) && !strings.Contains(line, initialEventsEnd)
}

func values(lines []string) []string {
	var values []string
	for _, text := range lines {
		var e struct {
			Type   string
			Object struct {
				Code int
				Data map[string]string
			}
		}
		switch err := json.Unmarshal([]byte(text), &e); {
		case err != nil:
			values = append(values, "damaged")
		case e.Object.Code != 0:
			values = append(values, fmt.Sprint(e.Type, " ", e.Object.Code))
		default:
			values = append(values, e.Type+" "+e.Object.Data["v"])
		}
	}
	return values
}

const configMapX = "{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {v: '0'}}"

func TestFaultProxy_FaultsOfRequests(t *testing.T) {
	t.Parallel()
	cluster := New(t)
	proxy := cluster.FaultProxy(Faults{})
	c := newClient(t, cluster, proxy.Config())
	object := cluster.Apply(configMapX)
	for i, test := range []struct {
		fault  Fault
		status int
		effect bool
		words  string // text in the body or in the error
	}{
		{fault: Fault{Kind: FaultDrop}, words: "EOF"},
		{fault: Fault{Kind: FaultDrop, AfterEffect: true}, effect: true, words: "EOF"},
		{fault: Fault{Kind: FaultSilence, Delay: time.Millisecond}, words: "EOF"},
		{fault: Fault{Kind: FaultSilence, Delay: time.Millisecond, AfterEffect: true}, effect: true, words: "EOF"},
		{fault: Fault{Kind: FaultDelay, Delay: time.Millisecond}, status: 200, effect: true, words: "ConfigMap"},
		{fault: Fault{Kind: FaultDelay, Delay: time.Millisecond, AfterEffect: true}, status: 200, effect: true, words: "ConfigMap"},
		{fault: Fault{Kind: FaultStatus}, status: 503, words: "ServiceUnavailable"},
		{fault: Fault{Kind: FaultStatus, Code: 401}, status: 401, words: "Unauthorized"},
		{fault: Fault{Kind: FaultStatus, Code: 403}, status: 403, words: "Forbidden"},
		{fault: Fault{Kind: FaultStatus, Code: 404}, status: 404, words: "NotFound"},
		{fault: Fault{Kind: FaultStatus, Code: 409}, status: 409, words: "Conflict"},
		{fault: Fault{Kind: FaultStatus, Code: 410}, status: 410, words: "Expired"},
		{fault: Fault{Kind: FaultStatus, Code: 422, Field: "data.v"}, status: 422, words: "FieldValueInvalid"},
		{fault: Fault{Kind: FaultStatus, Code: 429, RetryAfter: 1500 * time.Millisecond}, status: 429, words: `"retryAfterSeconds":2`},
		{fault: Fault{Kind: FaultStatus, Code: 500, AfterEffect: true}, status: 500, effect: true, words: "InternalError"},
		{fault: Fault{Kind: FaultStatus, Code: 504}, status: 504, words: "Timeout"},
		{fault: Fault{Kind: FaultGarbage}, status: 200, words: "<html>"},
		{fault: Fault{Kind: FaultGarbage, Code: 502, AfterEffect: true}, status: 502, effect: true, words: "<html>"},
		{fault: Fault{Kind: FaultTruncate}, status: 200, effect: true, words: "unexpected EOF"},
		{fault: Fault{Kind: FaultNone}, status: 200, effect: true, words: "ConfigMap"},
	} {
		t.Run(test.fault.String(), func(t *testing.T) {
			done := atomic.Bool{}
			test.fault.Do = func() { done.Store(true) }
			proxy.Set(Faults{Rules: []FaultRule{{Match: Requests(http.MethodPatch, "configmaps"), Fault: test.fault, Times: 1}}})
			before, want := len(proxy.Injected()), fmt.Sprint(i+1)
			status, body, header, err := c.do(http.MethodPatch, c.maps+"/x", `{"data":{"v":"`+want+`"}}`)
			if err != nil {
				body = err.Error()
			}
			if status != test.status || !strings.Contains(body, test.words) {
				t.Errorf("got status %d, %s", status, body)
			}
			if test.fault.RetryAfter > 0 && header.Get("Retry-After") != "2" {
				t.Errorf("got header %v", header)
			}
			if got := object.Get().Get("data.v") == want; got != test.effect {
				t.Errorf("got effect %t, want %t", got, test.effect)
			}
			if injected := proxy.Injected(); len(injected) != before+1 || injected[before].Object != "x" || !done.Load() {
				t.Errorf("got %d faults, done %t", len(injected)-before, done.Load())
			}
			if status, _, _, err := c.do(http.MethodPatch, c.maps+"/x", `{}`); status != 200 {
				t.Errorf("after the fault: %d, %v", status, err)
			}
		})
	}
}

func TestFaultProxy_SilenceEndsWithCalm(t *testing.T) {
	t.Parallel()
	cluster := New(t)
	silent := make(chan struct{})
	proxy := cluster.FaultProxy(Faults{Rules: []FaultRule{{Match: Writes, Fault: Fault{Kind: FaultSilence, Do: func() { close(silent) }}, Times: 1}}})
	c := newClient(t, cluster, proxy.Config())
	answered := make(chan error, 1)
	go func() {
		_, _, _, err := c.do(http.MethodPatch, c.maps+"/x", "{}")
		answered <- err
	}()
	<-silent
	select {
	case err := <-answered:
		t.Errorf("answered before the calm: %v", err)
	default:
	}
	proxy.Calm()
	if err := <-answered; err == nil || !strings.Contains(err.Error(), "EOF") {
		t.Errorf("got %v", err)
	}
}

func TestFaultProxy_FaultsOfStreams(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		fault Fault
		want  []string // events that the client can read
		ends  bool
	}{
		{Fault{Kind: FaultDrop, Events: 2}, []string{"ADDED 0", "MODIFIED 1"}, true},
		{Fault{Kind: FaultStatus, Code: 410, Events: 1}, []string{"ADDED 0", "ERROR 410"}, true},
		{Fault{Kind: FaultTruncate, Events: 1}, []string{"ADDED 0", "damaged"}, true},
		{Fault{Kind: FaultGarbage, Events: 1}, []string{"ADDED 0", "damaged", "MODIFIED 2"}, false},
		{Fault{Kind: FaultGlue, Events: 1}, []string{"ADDED 0", "damaged", "MODIFIED 3"}, false},
		{Fault{Kind: FaultDelay, Delay: time.Millisecond}, []string{"ADDED 0", "MODIFIED 1", "MODIFIED 2", "MODIFIED 3"}, false},
		{Fault{Kind: FaultDuplicate}, []string{"ADDED 0", "ADDED 0", "MODIFIED 1", "MODIFIED 1"}, false},
		{Fault{Kind: FaultOutdated}, []string{"ADDED 0", "MODIFIED 1", "MODIFIED 0", "MODIFIED 2", "MODIFIED 1"}, false},
		{Fault{Kind: FaultReorder}, []string{"MODIFIED 1", "ADDED 0", "MODIFIED 3", "MODIFIED 2"}, false},
	} {
		t.Run(test.fault.String(), func(t *testing.T) {
			t.Parallel()
			cluster := New(t)
			proxy := cluster.FaultProxy(Faults{Rules: []FaultRule{{Match: Watches, Fault: test.fault}}})
			c := newClient(t, cluster, proxy.Config())
			object := cluster.Apply(configMapX)
			version := object.Get().Get("metadata.resourceVersion").(string)
			for i := range 3 {
				object.Set("data.v", fmt.Sprint(i+1))
			}
			// The stream begins with the events since the version before the object, all at once.
			lines := c.lines("resourceVersion=" + before1(version))
			var got []string
			for len(got) < len(test.want) {
				text, ok := <-lines
				if !ok {
					break
				}
				got = append(got, text)
			}
			if got := values(got); !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if test.ends {
				if text, more := <-lines; more {
					t.Errorf("the stream goes on with %s", text)
				}
			}
			if len(proxy.Injected()) == 0 {
				t.Error("no fault is remembered")
			}
		})
	}
}

func TestFaultProxy_ListOfStreamHasNoFaultsOfEvents(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		kind FaultKind
		want []string // events after the list
	}{
		{FaultDuplicate, []string{"MODIFIED 1", "MODIFIED 1"}},
		{FaultOutdated, []string{"MODIFIED 1", "MODIFIED 0"}},
		{FaultReorder, []string{"MODIFIED 1"}}, // nothing overtakes it
	} {
		t.Run(string(test.kind), func(t *testing.T) {
			t.Parallel()
			cluster := New(t)
			proxy := cluster.FaultProxy(Faults{Rules: []FaultRule{{Match: Watches, Fault: Fault{Kind: test.kind}}}})
			c := newClient(t, cluster, proxy.Config())
			object := cluster.Apply(configMapX)
			const list = "sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan"
			read := func(lines <-chan string, want ...string) {
				t.Helper()
				var got []string
				for len(got) < len(want) {
					text, ok := <-lines
					if !ok {
						t.Fatalf("the stream has ended after %q", got)
					}
					got = append(got, text)
				}
				if got := values(got); !slices.Equal(got, want) {
					t.Errorf("got %q, want %q", got, want)
				}
			}
			read(c.lines(list), "ADDED 0", "BOOKMARK ") // the proxy knows a previous version of the object
			lines := c.lines(list)
			read(lines, "ADDED 0", "BOOKMARK ")
			if injected := proxy.Injected(); len(injected) > 0 {
				t.Errorf("faults in the list: %v", injected)
			}
			object.Set("data.v", "1")
			read(lines, test.want...)
			if injected := proxy.Injected(); len(injected) == 0 {
				t.Error("no fault after the list")
			}
		})
	}
}

func TestHistory_FormerVersionWithSeveralStreams(t *testing.T) {
	var h history
	note := func(version, want string) {
		t.Helper()
		var e event
		e.Type, e.Object.Metadata.UID, e.Object.Metadata.ResourceVersion = "MODIFIED", "uid", version
		if got := string(h.event(e, []byte(version))); got != want {
			t.Errorf("version %s: the former one is %q, want %q", version, got, want)
		}
	}
	note("5", "")
	note("5", "") // of another stream
	note("7", "5")
	note("7", "5")
	note("9", "7")
	note("7", "") // of a stream that lags behind; 5 is forgotten
	note("9", "7")
	note("12", "9")
	note("3", "")
	note("12", "9")
}

// before1 returns the version before another one.
func before1(version string) string {
	var n uint64
	_, _ = fmt.Sscan(version, &n) // 0 if it is no number, which the server refuses
	return fmt.Sprint(n - 1)
}

func TestFaultProxy_StaleListsAreOlder(t *testing.T) {
	t.Parallel()
	cluster := New(t)
	proxy := cluster.FaultProxy(Faults{})
	c := newClient(t, cluster, proxy.Config())
	object := cluster.Apply(configMapX)
	// The proxy knows the versions that have passed through it.
	if status, body, _, err := c.do(http.MethodGet, c.maps, ""); status != 200 {
		t.Fatal(body, err)
	}
	object.Set("data.v", "1")
	if status, body, _, err := c.do(http.MethodGet, c.maps, ""); status != 200 || !strings.Contains(body, `"v":"1"`) {
		t.Fatal(body, err)
	}
	proxy.Set(Faults{Rules: []FaultRule{{Match: Lists, Fault: Fault{Kind: FaultStale, Age: time.Hour}}}})
	_, body, _, err := c.do(http.MethodGet, c.maps+"?resourceVersion=0", "")
	if err != nil || !strings.Contains(body, `"v":"0"`) {
		t.Error("the list is not stale:", body, err)
	}
	version := object.Get().Get("metadata.resourceVersion").(string)
	_, body, _, err = c.do(http.MethodGet, c.maps+"?resourceVersion="+version, "")
	if err != nil || !strings.Contains(body, `"v":"1"`) {
		t.Error("the list is older than the client wants:", body, err)
	}
	lines := c.lines("sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan")
	var got []string
	for len(got) < 3 {
		text, ok := <-lines
		if !ok {
			t.Fatal("the stream has ended")
		}
		got = append(got, text)
	}
	if want := []string{"ADDED 0", "BOOKMARK ", "MODIFIED 1"}; !slices.Equal(values(got), want) || !strings.Contains(got[1], "initial-events-end") {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestFaultProxy_RulesLimitFaults(t *testing.T) {
	t.Parallel()
	cluster := New(t)
	status := func(code int) Fault { return Fault{Kind: FaultStatus, Code: code} }
	proxy := cluster.FaultProxy(Faults{Rules: []FaultRule{
		{Match: Writes, Fault: status(500)},
		{Match: Lists, Fault: status(502), Skip: 1, Times: 2},
		{Match: Requests("", "configmaps/status"), Fault: status(504)},
	}})
	c := newClient(t, cluster, proxy.Config())
	var got []int
	for _, path := range []string{c.maps, c.maps + "/x", c.maps, c.maps, c.maps, c.maps + "/x/status"} {
		code, _, _, _ := c.do(http.MethodGet, path, "")
		got = append(got, code)
	}
	if want := []int{200, 404, 502, 502, 200, 504}; !slices.Equal(got, want) {
		t.Errorf("got %d, want %d", got, want)
	}
}

func TestFaultProxy_SeedIsReplayable(t *testing.T) {
	t.Parallel()
	codes := func(seed uint64) (codes []int) {
		cluster := New(t)
		proxy := cluster.FaultProxy(Faults{Seed: seed, Rules: []FaultRule{{Fault: Fault{Kind: FaultStatus}, Chance: 0.5}}})
		c := newClient(t, cluster, proxy.Config())
		for i := range 30 {
			code, _, _, _ := c.do(http.MethodDelete, fmt.Sprint(c.maps, "/", i%3), "")
			codes = append(codes, code)
		}
		return codes
	}
	first := codes(1)
	if again := codes(1); !slices.Equal(first, again) {
		t.Errorf("the same seed leads to %d and to %d", first, again)
	}
	if other := codes(2); slices.Equal(first, other) {
		t.Errorf("another seed leads to the same: %d", other)
	}
	if !slices.Contains(first, 503) || !slices.Contains(first, 404) {
		t.Errorf("a chance of one half leads to %d", first)
	}
}

func TestFaultProxy_RestartAndRotation(t *testing.T) {
	t.Parallel()
	cluster := New(t)
	proxy := cluster.FaultProxy(Faults{})
	c := newClient(t, cluster, proxy.Config())
	serial := func() string {
		t.Helper()
		resp, err := c.http.Get(c.base + "/version")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		return resp.TLS.PeerCertificates[0].SerialNumber.String()
	}
	first := serial()
	lines := c.lines("")
	proxy.Down()
	if _, more := <-lines; more {
		t.Error("the stream goes on")
	}
	if _, _, _, err := c.do(http.MethodGet, "/version", ""); err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("got %v", err)
	}
	proxy.Up()
	if again := serial(); again != first {
		t.Error("a restart has replaced the certificate")
	}
	proxy.RotateCertificate()
	if rotated := serial(); rotated == first {
		t.Error("the certificate is the same")
	}
	if n := proxy.Connections(); n < 3 {
		t.Errorf("%d connections are counted", n)
	}
	strangers := proxy.Config()
	strangers.CAData = nil
	_, _, _, err := newClient(t, cluster, strangers).do(http.MethodGet, "/version", "")
	if !errors.As(err, new(x509.UnknownAuthorityError)) {
		t.Errorf("a client that does not know the authority gets %v", err)
	}
}

func TestFaultProxy_ForwardsTokens(t *testing.T) {
	t.Parallel()
	cluster := New(t)
	config := cluster.FaultProxy(Faults{}).Config()
	config.BearerToken = "unknown"
	if status, body, _, err := newClient(t, cluster, config).do(http.MethodGet, "/version/", ""); status != http.StatusUnauthorized {
		t.Error(status, body, err)
	}
}

func TestFaultProxy_OperatorWorksAndDies(t *testing.T) {
	t.Parallel()
	cluster := New(t)
	cluster.Apply(widgetsCRD)
	proxy := cluster.FaultProxy(Faults{Rules: []FaultRule{{Match: Writes, Fault: Fault{Kind: FaultDrop, AfterEffect: true}, Times: 1}}})
	var calls atomic.Int32
	operator := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, widgets, func(context.Context, *request) error { calls.Add(1); return nil }, kopf.ID("create"))
	}, proxy.Connect, func(o *kopf.Operator) {
		o.Settings.Networking.ErrorBackoffs = slices.Values(slices.Repeat([]time.Duration{time.Millisecond}, 20))
	})
	operator.WaitHandled(cluster.Apply(widget))
	if n := calls.Load(); n != 1 {
		t.Errorf("%d calls", n)
	}
	if faults := proxy.Injected(); len(faults) != 1 || faults[0].Method != http.MethodPatch {
		t.Errorf("%+v", faults)
	}
	operator.Kill() // fails the test if the requests of the operator cannot be stopped
}
