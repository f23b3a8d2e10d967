package kopftest

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	golog "log"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

// A FaultProxy is a server between an operator and the API server that injects [Faults]:
//
//	proxy := cluster.FaultProxy(kopftest.Faults{Rules: []kopftest.FaultRule{
//		{Match: kopftest.Writes, Fault: kopftest.Fault{Kind: kopftest.FaultDrop, AfterEffect: true}, Times: 1},
//	}})
//	operator := cluster.Run(Register, proxy.Connect)
//
// A request with a bearer token is forwarded with this token, other requests with the credentials of the cluster. The
// methods can be called concurrently, except Up, Disconnect and RotateCertificate: they can fail the test, so they must be
// called from the test's goroutine.
type FaultProxy struct {
	c         *Cluster
	target    *url.URL
	upstream  *kube.Session // has the credentials of the cluster
	anonymous *kube.Session // serves requests with their own credentials
	ca        *authority
	address   string

	decisions decisions
	history   history
	tap       tap // nil unless [EveryCrash] made the proxy

	connections atomic.Int64

	mu     sync.Mutex
	cert   *tls.Certificate
	server *http.Server // nil while it is down
	calm   chan struct{}
	active sync.WaitGroup
	lives  map[string]*life
	life   *life // life of the operator that was connected last; nil before the first
}

// FaultProxy starts a proxy for the cluster. The proxy stops at the end of the test.
func (c *Cluster) FaultProxy(faults Faults) *FaultProxy {
	c.t.Helper()
	p := &FaultProxy{c: c, address: "127.0.0.1:0", calm: make(chan struct{}), decisions: decisions{namespace: c.Namespace}}
	p.decisions.set(faults)
	var err error
	if p.upstream, err = kube.NewSession(c.Config, 0); err == nil {
		p.anonymous, err = kube.NewSession(rest.AnonymousClientConfig(c.Config), 0)
	}
	if err == nil {
		p.target, err = url.Parse(p.upstream.Server())
	}
	if err == nil {
		p.ca, err = newAuthority()
	}
	if err != nil {
		c.t.Fatalf("kopftest: start a proxy of the cluster: %v", err)
	}
	p.RotateCertificate()
	p.Up()
	c.t.Cleanup(func() {
		p.Calm()
		p.Down()
		p.active.Wait()
		p.upstream.Close()
		p.anonymous.Close()
	})
	return p
}

// Connect makes an operator use the proxy. Pass it to [Cluster.Run]. [Operator.Kill] also works with a proxy.
func (p *FaultProxy) Connect(o *kopf.Operator) {
	if o.Config == nil {
		o.Config = &rest.Config{}
	}
	// The configuration is changed in place, because Kill cannot stop the requests of another configuration.
	p.redirect(o.Config)
	o.Config.Wrap(p.newLife().wrap)
}

// Killed returns a channel that closes when a [FaultKill] kills the operator that was connected last.
func (p *FaultProxy) Killed() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.life == nil {
		return nil
	}
	return p.life.gate.ctx.Done()
}

// Config returns the connection to the proxy, for other clients.
func (p *FaultProxy) Config() *rest.Config {
	config := &rest.Config{}
	p.redirect(config)
	return config
}

func (p *FaultProxy) redirect(config *rest.Config) {
	config.Host, config.APIPath = "https://"+p.address+strings.TrimRight(p.target.Path, "/"), ""
	config.TLSClientConfig = rest.TLSClientConfig{CAData: p.ca.pem, NextProtos: []string{"http/1.1"}}
}

// Set replaces the faults, and releases the requests that the previous faults delay: a delayed request continues at
// once, and the connection of a request without an answer is closed.
func (p *FaultProxy) Set(faults Faults) {
	p.decisions.set(faults)
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.calm)
	p.calm = make(chan struct{})
}

// Calm ends all faults. Later requests pass, and delayed requests are released as by [FaultProxy.Set].
func (p *FaultProxy) Calm() { p.Set(Faults{}) }

// Injected returns the faults that happened so far.
func (p *FaultProxy) Injected() []InjectedFault {
	p.decisions.mu.Lock()
	defer p.decisions.mu.Unlock()
	return slices.Clone(p.decisions.injected)
}

// Connections returns the number of connections accepted so far.
func (p *FaultProxy) Connections() int { return int(p.connections.Load()) }

// Down closes all connections and accepts no new connections, as if the API server stopped. It does nothing if the proxy is
// down.
func (p *FaultProxy) Down() {
	p.c.t.Helper()
	if err := p.down(); err != nil {
		p.c.t.Errorf("kopftest: %v", err)
	}
}

func (p *FaultProxy) down() error {
	p.mu.Lock()
	server := p.server
	p.server = nil
	p.mu.Unlock()
	if server == nil {
		return nil
	}
	if err := server.Close(); err != nil {
		return fmt.Errorf("stop the proxy: %w", err)
	}
	return nil
}

// upTimeout limits how long Up waits for its port if another program uses the port.
const upTimeout = 10 * time.Second

// Up accepts connections again, at the same address. It does nothing if the proxy is up.
func (p *FaultProxy) Up() {
	p.c.t.Helper()
	if err := p.up(); err != nil {
		p.c.t.Fatalf("kopftest: %v", err)
	}
}

func (p *FaultProxy) up() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.server != nil {
		return nil
	}
	listener, err := net.Listen("tcp", p.address)
	for end := time.Now().Add(upTimeout); err != nil && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond) // no event signals a free port
		listener, err = net.Listen("tcp", p.address)
	}
	if err != nil {
		return fmt.Errorf("start the proxy: %w", err)
	}
	if strings.HasSuffix(p.address, ":0") {
		p.address = listener.Addr().String() // never changed again, so it is read without the lock
	}
	server := &http.Server{
		Handler:   http.HandlerFunc(p.serve),
		TLSConfig: &tls.Config{GetCertificate: p.certificate, NextProtos: []string{"http/1.1"}}, //nolint:gosec // the newest version is the default
		ConnState: func(_ net.Conn, state http.ConnState) {
			if state == http.StateNew {
				p.connections.Add(1)
			}
		},
		ErrorLog: golog.New(io.Discard, "", 0), // errors of the connections are intended
	}
	p.server = server
	p.active.Go(func() { _ = server.ServeTLS(listener, "", "") }) // always returns an error when the server is closed
	return nil
}

// Disconnect closes all connections. The proxy accepts new connections at once.
func (p *FaultProxy) Disconnect() {
	p.c.t.Helper()
	if err := p.disconnect(); err != nil {
		p.c.t.Fatalf("kopftest: %v", err)
	}
}

func (p *FaultProxy) disconnect() error { return errors.Join(p.down(), p.up()) }

// RotateCertificate replaces the certificate of the server by a new certificate of the same authority, and closes all
// connections.
func (p *FaultProxy) RotateCertificate() {
	p.c.t.Helper()
	if err := p.rotateCertificate(); err != nil {
		p.c.t.Fatalf("kopftest: %v", err)
	}
}

func (p *FaultProxy) rotateCertificate() error {
	cert, err := p.ca.issue()
	if err != nil {
		return err
	}
	p.mu.Lock()
	p.cert = cert
	up := p.server != nil
	p.mu.Unlock()
	if up {
		return p.disconnect()
	}
	return nil
}

func (p *FaultProxy) certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cert, nil
}

// enter counts a request as active, unless the proxy is down. The channel closes when the current faults end.
func (p *FaultProxy) enter() (calmed <-chan struct{}, up bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.server == nil {
		return nil, false
	}
	p.active.Add(1)
	return p.calm, true
}

func (p *FaultProxy) serve(w http.ResponseWriter, r *http.Request) {
	calmed, up := p.enter()
	if !up {
		abort()
	}
	defer p.active.Done()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		abort() // the client disconnected
	}
	fault := p.faultOf(r, body)
	switch {
	case fault == nil:
		p.pass(w, r, body, nil, calmed)
	case fault.Kind == FaultStale:
		p.answerStale(w, r, body, fault, calmed)
	case fault.Kind == FaultTruncate, Watches(r) && (fault.Events > 0 || fault.Kind == FaultDelay || fault.Kind == FaultGarbage && fault.Code == 0 || fault.Kind == FaultGlue):
		p.pass(w, r, body, fault, calmed)
	default:
		p.fail(w, r, body, *fault, calmed)
	}
}

// pass forwards a request and its response. The fault may damage the response.
func (p *FaultProxy) pass(w http.ResponseWriter, r *http.Request, body []byte, fault *Fault, calmed <-chan struct{}) {
	resp, err := p.forward(r.Context(), r, body)
	if err != nil {
		abort()
	}
	defer resp.Body.Close()
	switch {
	case Watches(r) && resp.StatusCode == http.StatusOK && isJSON(resp):
		begin(w, resp, false)
		p.relay(w, r, resp.Body, Lists(r), fault, calmed)
		return
	case !isJSON(resp): // passed on unread, because the response may be a stream
		begin(w, resp, false)
		if _, err := io.Copy(flushing{w}, resp.Body); err != nil {
			abort()
		}
		return
	}
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		abort()
	}
	p.answered(r, answer)
	begin(w, resp, true)
	if fault != nil && fault.Kind == FaultTruncate {
		p.decisions.note(*fault, r, targetOf(r).name)
		_, _ = w.Write(answer[:p.decisions.part(r.URL.Path, len(answer))]) // an error means that the client disconnected
		flush(w)
		abort()
	}
	_, _ = w.Write(answer) // an error means that the client disconnected
}

// fail answers a request according to a fault.
func (p *FaultProxy) fail(w http.ResponseWriter, r *http.Request, body []byte, fault Fault, calmed <-chan struct{}) {
	var answer *http.Response
	var content []byte
	if fault.AfterEffect {
		// The API server carries out the request even if the client disconnects.
		resp, err := p.forward(context.WithoutCancel(r.Context()), r, body)
		if err == nil {
			answer = resp
			content, err = io.ReadAll(resp.Body)
			err = errors.Join(err, resp.Body.Close())
		}
		if err != nil {
			if fault.Kind != FaultKill {
				fault.Kind = FaultDrop // the request failed, so there is no response to alter
			}
		}
		p.answered(r, content)
	}
	p.decisions.note(fault, r, targetOf(r).name)
	switch fault.Kind {
	case FaultKill:
		p.kill(r)
		abort()
	case FaultStatus:
		writeStatus(w, fault)
	case FaultGarbage, FaultGlue:
		writeGarbage(w, fault)
	case FaultSilence:
		wait(r.Context(), fault.Delay, calmed)
		abort()
	case FaultDelay, FaultNone:
		if fault.Kind == FaultDelay {
			wait(r.Context(), max(fault.Delay, time.Nanosecond), calmed)
		}
		if answer == nil {
			p.pass(w, r, body, nil, calmed)
			return
		}
		begin(w, answer, true)
		_, _ = w.Write(content) // an error means that the client disconnected
	default:
		abort()
	}
}

// wait waits until the time is over, the faults end or the client disconnects. A time of 0 means no limit.
func wait(ctx context.Context, d time.Duration, calmed <-chan struct{}) {
	var over <-chan time.Time
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-over:
	case <-calmed:
	case <-ctx.Done():
	}
}

// forward sends a request to the API server.
func (p *FaultProxy) forward(ctx context.Context, r *http.Request, body []byte) (*http.Response, error) {
	out := r.Clone(ctx)
	out.RequestURI, out.Host, out.Close = "", "", false
	out.URL.Scheme, out.URL.Host = p.target.Scheme, p.target.Host
	for _, hop := range []string{"Connection", "Keep-Alive", "Te", "Upgrade", "Accept-Encoding", lifeHeader} {
		out.Header.Del(hop)
	}
	out.Body, out.ContentLength = http.NoBody, int64(len(body))
	if len(body) > 0 {
		out.Body = io.NopCloser(bytes.NewReader(body))
	}
	session := p.upstream
	if r.Header.Get("Authorization") != "" {
		session = p.anonymous
	}
	resp, err := session.RoundTrip(out)
	if err != nil {
		return nil, fmt.Errorf("forward %s %s: %w", r.Method, r.URL.Path, err)
	}
	return resp, nil
}
