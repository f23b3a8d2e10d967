package tunnel

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"golang.ngrok.com/muxado/v2"
)

// The types of streams in the protocol of ngrok's client.
const (
	ngrokAuth   muxado.StreamType = 0
	ngrokBind   muxado.StreamType = 1
	ngrokUnbind muxado.StreamType = 2
	ngrokProxy  muxado.StreamType = 3
)

// ngrokServer speaks the protocol of ngrok's service to its client, and serves the public endpoint with TLS.
type ngrokServer struct {
	t       *testing.T
	control net.Listener // endpoint for clients
	edge    net.Listener // the public endpoint
	url     string       // address of the edge
	roots   *x509.CertPool
	serving sync.WaitGroup

	token      string // the only valid one
	bindError  string
	connection chan *ngrokClient // receives each client that has bound the endpoint

	mu        sync.Mutex
	misroutes bool // the edge closes connections of callers
	client    *ngrokClient
	current   chan struct{} // closed when client is replaced
}

// ngrokClient is a connected client.
type ngrokClient struct {
	session muxado.TypedStreamSession
	bind    string // the id of the endpoint
	domain  string // requested domain
}

func newNgrokServer(t *testing.T) *ngrokServer {
	t.Helper()
	return newNgrokServerAt(t, nil)
}

// newNgrokServerAt returns a server whose public endpoint is the listener; nil for one that ends the TLS of callers.
func newNgrokServerAt(t *testing.T, edge net.Listener) *ngrokServer {
	t.Helper()
	tlsServer := httptest.NewTLSServer(nil) // only for its certificate
	certificates := tlsServer.TLS.Certificates
	roots := x509.NewCertPool()
	roots.AddCert(tlsServer.Certificate())
	tlsServer.Close()
	listen := func() net.Listener {
		l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: certificates})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	if edge == nil {
		edge = listen()
	}
	s := &ngrokServer{t: t, control: listen(), edge: edge, roots: roots, token: "good", connection: make(chan *ngrokClient, 16), current: make(chan struct{})}
	s.url = "https://" + s.edge.Addr().String()
	s.serving.Go(func() { s.accept(s.control, s.serveClient) })
	s.serving.Go(func() { s.accept(s.edge, s.serveEdge) })
	t.Cleanup(func() {
		s.control.Close()
		s.edge.Close()
		s.drop()
		s.serving.Wait()
	})
	return s
}

func (s *ngrokServer) way(token string) Ngrok {
	return Ngrok{Token: token, Server: s.control.Addr().String(), Authorities: s.roots}
}

func (s *ngrokServer) accept(l net.Listener, serve func(net.Conn)) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		s.serving.Go(func() { serve(conn) })
	}
}

// misroute makes the edge close callers' connections, or pass them to the client again.
func (s *ngrokServer) misroute(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.misroutes = on
}

// drop breaks the connection of the client.
func (s *ngrokServer) drop() {
	s.mu.Lock()
	client := s.client
	s.client = nil
	s.mu.Unlock()
	if client != nil {
		_ = client.session.Close()
	}
}

// serveClient answers a client: it authenticates, binds an endpoint, and unbinds it.
func (s *ngrokServer) serveClient(conn net.Conn) {
	heart := muxado.NewHeartbeat(muxado.NewTypedStreamSession(muxado.Server(conn, &muxado.Config{})), func(time.Duration, bool) {}, nil)
	defer heart.Close()
	client := &ngrokClient{session: heart}
	for {
		stream, err := heart.AcceptTypedStream()
		if err != nil {
			return
		}
		switch stream.StreamType() {
		case ngrokAuth:
			s.answerAuth(stream)
		case ngrokBind:
			s.answerBind(client, stream)
		case ngrokUnbind:
			s.answer(stream, map[string]any{})
		default:
			s.t.Errorf("the client has opened a stream of type %d", stream.StreamType())
		}
		_ = stream.Close()
	}
}

func (s *ngrokServer) answerAuth(stream io.ReadWriter) {
	var request struct {
		Version []string
		Extra   struct{ Authtoken string }
	}
	s.read(stream, &request)
	response := map[string]any{"Version": "3", "ClientId": "client-1", "Extra": map[string]any{"Region": "here", "Cookie": "x"}}
	if request.Extra.Authtoken != s.token {
		response["Error"] = "The authtoken you specified does not look like a proper ngrok authtoken.\nYour authtoken: " + request.Extra.Authtoken + "\n\nERR_NGROK_105"
	}
	s.answer(stream, response)
}

func (s *ngrokServer) answerBind(client *ngrokClient, stream io.ReadWriter) {
	var request struct {
		ID    string `json:"Id"`
		Proto string
		Opts  struct{ URL, Domain, Hostname string }
	}
	s.read(stream, &request)
	client.bind, client.domain = "bind-1", request.Opts.URL+request.Opts.Domain+request.Opts.Hostname
	response := map[string]any{"Id": client.bind, "URL": s.url, "Proto": request.Proto, "Opts": map[string]any{}, "Extra": map[string]any{"Token": "y"}}
	if s.bindError != "" {
		response["Error"] = s.bindError
	}
	s.answer(stream, response)
	if s.bindError != "" {
		return
	}
	s.mu.Lock()
	s.client = client
	close(s.current)
	s.current = make(chan struct{})
	s.mu.Unlock()
	s.connection <- client
}

func (s *ngrokServer) read(r io.Reader, v any) {
	if err := json.NewDecoder(r).Decode(v); err != nil {
		s.t.Errorf("read a request of the client: %v", err)
	}
}

func (s *ngrokServer) answer(w io.Writer, v any) {
	text, err := json.Marshal(v)
	if err == nil {
		_, err = w.Write(text)
	}
	if err != nil {
		s.t.Logf("answer the client: %v", err) // it may have ended
	}
}

// serveEdge passes a caller's bytes on to the client in a stream.
func (s *ngrokServer) serveEdge(conn net.Conn) {
	defer conn.Close()
	s.mu.Lock()
	client := s.client
	if s.misroutes {
		client = nil
	}
	s.mu.Unlock()
	if client == nil {
		return // as ngrok, which answers with an error page
	}
	stream, err := client.session.OpenTypedStream(ngrokProxy)
	if err != nil {
		return
	}
	defer stream.Close()
	header := fmt.Appendf(nil, `{"Id":%q,"ClientAddr":%q,"Proto":"https","EdgeType":"1"}`, client.bind, conn.RemoteAddr())
	if err := binary.Write(stream, binary.LittleEndian, int64(len(header))); err != nil {
		return
	}
	if _, err := stream.Write(header); err != nil {
		return
	}
	var both sync.WaitGroup
	both.Go(func() {
		_, _ = io.Copy(stream, conn) // the end of either side ends both
		_ = stream.CloseWrite()
	})
	_, _ = io.Copy(conn, stream)
	_ = conn.Close()
	both.Wait()
}
