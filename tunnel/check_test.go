package tunnel

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kopf-dev/kopf/sdk/webhook"
)

// options are those for the embedded cluster, with lines that are said.
func options(t *testing.T) (Options, *[]string) {
	t.Helper()
	var mu sync.Mutex
	said := &[]string{}
	return Options{
		Cluster: Cluster{Config: config, Embedded: true, Server: config.Host},
		Say: func(_ bool, line string) {
			mu.Lock()
			defer mu.Unlock()
			*said = append(*said, line)
		},
	}, said
}

func open(t *testing.T, o Options) *Session {
	t.Helper()
	s, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(t.Context(), true); err != nil {
			t.Error(err)
		}
	})
	return s
}

// expectNoChecks fails if checks have left something.
func expectNoChecks(t *testing.T) {
	t.Helper()
	list, err := newClient(t).Resource(validatingConfigurations).List(t.Context(), metav1.ListOptions{LabelSelector: SessionLabel})
	if err != nil {
		t.Fatal(err)
	}
	for i := range list.Items {
		t.Errorf("%s remains", nameOf(&list.Items[i]))
	}
	maps, err := newClient(t).Resource(configMaps).Namespace("default").List(t.Context(), metav1.ListOptions{LabelSelector: checkLabel})
	if err != nil || len(maps.Items) > 0 {
		t.Errorf("%d objects of checks remain (%v)", len(maps.Items), err)
	}
}

func TestCheck_APIServerAcceptsTargets(t *testing.T) {
	c := &checker{client: newClient(t), namespace: "default", forwarder: NewForwarder(0), mark: newMark("session", time.Now())}
	for title, target := range map[string]Target{
		"url": {URL: "https://127.0.0.1:9443/hooks"}, "service": {Service: &webhook.Service{Namespace: "default", Name: "relay", Path: "/hooks"}},
	} {
		id := randomName()
		o := c.configuration("kopf-check-"+id, id, target.below(c.forwarder.secret, checkPath+id), nil)
		if _, err := c.client.Resource(validatingConfigurations).Create(t.Context(), o, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
			t.Errorf("%s: %v", title, err)
		}
	}
}

func TestOpen_EmbeddedClusterReachesForwarder(t *testing.T) {
	o, said := options(t)
	s := open(t, o)
	if s.Way != "direct" || !strings.HasPrefix(s.Status().Target.URL, "https://127.0.0.1:") {
		t.Errorf("the way is %s with %s", s.Way, s.Status().Target.URL)
	}
	if len(*said) != 2 || !strings.HasPrefix((*said)[1], "webhooks: direct, since the embedded cluster runs on this machine; the API server reaches https://127.0.0.1:") {
		t.Errorf("it says %q", *said)
	}
	if strings.Contains(strings.Join(*said, ""), s.Forwarder.secret) {
		t.Error("it says the secret")
	}
	expectNoChecks(t)
}

// followed is a way whose context is known.
type followed struct {
	Local
	ctx *context.Context
}

func (f followed) Open(ctx context.Context) (*Entrance, error) {
	*f.ctx = ctx
	return f.Local.Open(ctx)
}

func TestOpen_WayOutlivesContext(t *testing.T) {
	opening, cancel := context.WithCancel(t.Context())
	var life context.Context
	o, _ := options(t)
	o.Custom = followed{Local{Word: "followed", Listen: loopback, Host: loopback}, &life}
	s, err := Open(opening, o)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if life.Err() != nil {
		t.Error("the way ends with its opening")
	}
	if err := s.Close(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	if life.Err() == nil {
		t.Error("the way does not end with the session")
	}
}

func TestOpen_InterruptionEndsIt(t *testing.T) {
	opening, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	o, _ := options(t)
	o.URL = fmt.Sprintf("https://127.0.0.1:%d", closedPort(t))
	o.Say = func(_ bool, line string) {
		if strings.HasPrefix(line, "webhooks: trying") {
			cancel(stopped)
		}
	}
	if _, err := Open(opening, o); !errors.Is(err, stopped) {
		t.Errorf("the error is %v", err)
	}
	expectNoChecks(t)
}

func TestOpen_ManyAtOnce(t *testing.T) {
	var all sync.WaitGroup
	for range 5 {
		all.Go(func() {
			o, _ := options(t)
			s, err := Open(t.Context(), o)
			if err != nil {
				t.Error(err)
				return
			}
			if err := s.Close(t.Context(), true); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	expectNoChecks(t)
}

// closedPort returns a port without a listener.
func closedPort(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}

func TestOpen_UnreachableAddressIsReportedInWordsOfAPIServer(t *testing.T) {
	for name, test := range map[string]struct{ url, want string }{
		"nobody listens": {fmt.Sprintf("https://127.0.0.1:%d", closedPort(t)), "connection refused"},
		"unknown host":   {"https://host.invalid:1", "lookup host.invalid"},
	} {
		t.Run(name, func(t *testing.T) {
			o, _ := options(t)
			o.URL = test.url
			s, err := Open(t.Context(), o)
			if err == nil {
				t.Fatal(s.Close(t.Context(), true), "it is open")
			}
			none, ok := errors.AsType[*NoWayError](err)
			unreachable, reason := errors.AsType[*UnreachableError](err)
			if !ok || len(none.Tried) != 1 || !reason || !strings.Contains(unreachable.Reason, test.want) {
				t.Errorf("the error is %v", err)
			}
			if strings.Contains(err.Error(), "Post") || !strings.Contains(err.Error(), "--webhook=off") {
				t.Errorf("the error is %v", err)
			}
			expectNoChecks(t)
		})
	}
}

func TestOpen_ForeignCertificateIsRefused(t *testing.T) {
	o, _ := options(t)
	foreign := Local{Word: "foreign", Listen: loopback, Host: "localhost"}
	o.Custom = wrongCertificate{foreign}
	s, err := Open(t.Context(), o)
	if err == nil {
		t.Fatal(s.Close(t.Context(), true), "it is open")
	}
	if _, ok := errors.AsType[*UnreachableError](err); !ok || !strings.Contains(err.Error(), "x509") {
		t.Errorf("the error is %v", err)
	}
	expectNoChecks(t)
}

func TestOpen_SystemAuthorities(t *testing.T) {
	o, _ := options(t)
	o.Certificates.CAFile = SystemCA
	s, err := Open(t.Context(), o)
	if err == nil {
		t.Fatal(s.Close(t.Context(), true), "it is open")
	}
	// The API server does not have the authority that signed the certificate.
	if _, ok := errors.AsType[*UnreachableError](err); !ok || !strings.Contains(err.Error(), "unknown authority") {
		t.Errorf("the error is %v", err)
	}
	expectNoChecks(t)
}

// wrongCertificate makes the session serve a certificate for another name than that in the target.
type wrongCertificate struct{ Local }

func (w wrongCertificate) Open(ctx context.Context) (*Entrance, error) {
	e, err := w.Local.Open(ctx)
	if err == nil {
		e.Listener, e.Plain = foreignTLS(e.Listener), true
	}
	return e, err
}

func TestOpen_BusyPortIsNamed(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	o, _ := options(t)
	o.Way, o.Local.Port = "direct", listener.Addr().(*net.TCPAddr).Port
	if _, err := Open(t.Context(), o); err == nil || !strings.Contains(err.Error(), "--webhook-port") {
		t.Errorf("the error is %v", err)
	}
}

func TestOpen_NgrokIsNeverChosen(t *testing.T) {
	o := &Options{Ngrok: Ngrok{Token: "x"}, Relay: Relay{Image: "x"}}
	for _, f := range []facts{{}, {kind: "k3d"}, {local: true, gateway: "10.0.0.1"}, {embedded: true}} {
		ways, err := o.candidates(f)
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(ways, func(c candidate) bool { return c.way.Name() == "ngrok" }) {
			t.Errorf("%+v: %v", f, ways)
		}
	}
}

// foreignTLS serves a certificate of an untrusted authority.
func foreignTLS(listener net.Listener) net.Listener {
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	return tls.NewListener(listener, &tls.Config{Certificates: server.TLS.Certificates})
}
