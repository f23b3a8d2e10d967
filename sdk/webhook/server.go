package webhook

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/observe"
)

const (
	defaultAddress = "127.0.0.1:0"
	maxHeaderBytes = 64 << 10

	// maxHeaderTime limits the time to receive the headers of a request, and maxBodyTime the time for each MiB of the body.
	// After a refusal, the server discards the rest of the body for refusalTime, so that the client reads the response.
	maxHeaderTime, maxBodyTime, refusalTime = 10 * time.Second, 10 * time.Second, time.Second

	// DefaultTimeout is the default of [Server].Timeout.
	DefaultTimeout = 30 * time.Second
	// DefaultMaxBytes is the default of [Server].MaxBytes.
	DefaultMaxBytes = 8 << 20
	// DefaultMaxReviews is the default of [Server].MaxReviews.
	DefaultMaxReviews = 1000
	// DefaultMaxConnections is the default of [Server].MaxConnections.
	DefaultMaxConnections = 128
	// ShutdownTimeout is how long running requests may take when the server stops.
	ShutdownTimeout = 5 * time.Second
)

// Names by which a cluster on this machine reaches the machine, for [Server].Host.
const (
	K3dHost      = "host.k3d.internal"
	MinikubeHost = "host.minikube.internal"
	DockerHost   = "host.docker.internal"
)

// PeerCertificateHeader is the header in which a listener in front of a Unix socket passes on the verified certificate of
// the client. The value is the PEM text, escaped as in the query of a URL. A [Server] accepts the header only at a Unix
// socket.
const PeerCertificateHeader = "Kopf-Peer-Certificate"

// Server is a server for admission reviews. It serves HTTPS on a port, or plain HTTP on a Unix socket. The zero value
// listens on a free port of the loopback interface, with a generated certificate. The fields must not be changed while it
// serves.
type Server struct {
	// Address is where the server listens: "HOST:PORT" or "unix:PATH". A missing host means all
	// interfaces, and port 0 means any free one. Defaults to "127.0.0.1:0".
	Address string

	// Listener accepts the connections instead of a listener at the Address, for connections that do not use a port of this
	// machine. Serve closes it. With a Listener, Host, URL or Service is required.
	Listener net.Listener

	// Host is the name or address in the announced URL. Defaults to the host of the Address. It is required if the Address
	// has no host or an unspecified one, such as "0.0.0.0".
	Host string

	// URL is announced instead of the URL with the Host, for a server behind a proxy. Service is announced instead of a
	// URL. Only one of URL and Service can be set.
	URL     string
	Service *Service

	// ConfigFile is a file written by [ClientConfig.WriteFile]. The server announces its content instead of the URL,
	// the Service and the CAFile, and announces it again after each change. Use it for a server behind a tunnel whose
	// address can change.
	ConfigFile string

	// Path is the prefix of the paths of all requests, such as "/hooks". Requests to other paths get 404. Defaults to no
	// prefix.
	Path string

	// CertFile has the certificate of the server with its chain, and KeyFile its key, in PEM. The server reads them again
	// when they change. Without these files, it generates an authority and a certificate for the Host, the Service and
	// ExtraNames, and keeps them in memory.
	CertFile, KeyFile string

	// CAFile has the certificates of the authorities that the API server must trust, in PEM. The server reads and announces
	// it again when it changes. Defaults to the generated authority; with a CertFile, to the authorities of the API server's
	// system.
	CAFile string

	// CADump is a file to which the server writes the announced authorities. Defaults to no file.
	CADump string

	// ClientCAFile has the certificates of the authorities that sign client certificates, in PEM. The server reads it again
	// when it changes, and rejects clients without a certificate of these authorities. By default, the server requests no
	// certificate.
	ClientCAFile string

	// ExtraNames are additional names and addresses in the generated certificate.
	ExtraNames []string

	// TLS is a base configuration, to which the server adds its certificates. Defaults to TLS 1.2 and later.
	TLS *tls.Config

	// Insecure serves plain HTTP on the port. Kubernetes requires HTTPS, so a proxy in front of the server is necessary.
	Insecure bool

	// MaxBytes limits the size of a request; larger requests get 413. All requests together use at most eight times MaxBytes
	// of memory, and the requests of one connection at most four times. Further requests wait for memory until the Timeout,
	// and then get 429. In each connection, small requests of together 512 KiB never wait. Defaults to 8 MiB.
	MaxBytes int64

	// MaxReviews limits the number of concurrent reviews. Further reviews wait until the Timeout, and then get 429. Defaults
	// to 1000.
	MaxReviews int

	// MaxConnections limits the number of connections. Beyond the limit, a new connection replaces the connection that was
	// idle or slow for the longest time. Each connection has up to 50 concurrent requests. Defaults to 128.
	MaxConnections int

	// Timeout limits how long a request waits for other requests, and the time to write a response. The headers of a request
	// and each MiB of its body may take as long, but at most 10s. Defaults to 30s, the longest time that an API server waits.
	Timeout time.Duration

	// Logger logs failures of connections and files. Defaults to the operator's logger; outside of an operator, to
	// [slog.Default].
	Logger *slog.Logger
}

// Serve announces the server, and serves requests until the context ends. Then it waits up to [ShutdownTimeout] for
// running requests, and returns nil. It returns an error if the fields contradict each other, if a file cannot be read, or
// if it cannot listen.
func (s *Server) Serve(ctx context.Context, reviews http.Handler, announce func(ClientConfig)) error {
	r, err := s.start(ctx)
	if err != nil {
		return fmt.Errorf("serve webhooks: %w", err)
	}
	connectionLog := newConnectionLog(r.logger)
	server := &http.Server{
		Handler:           r.handler(reviews),
		TLSConfig:         r.tls,
		ReadHeaderTimeout: min(maxHeaderTime, r.timeout),
		ReadTimeout:       2 * r.timeout, // only a fallback, because the handler limits the time for the body
		WriteTimeout:      4 * r.timeout, // counts from the end of the request's headers
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    maxHeaderBytes,
		BaseContext:       func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
		ConnContext:       remember,
		ErrorLog:          log.New(connectionLog, "", 0),
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: maxStreams, MaxReceiveBufferPerStream: streamWindow,
			MaxReceiveBufferPerConnection: maxStreams * streamWindow,
		},
	}
	listener := &connections{
		Listener: r.listener, max: positiveOr(s.MaxConnections, DefaultMaxConnections), maxBytes: r.maxBytes(),
		log: connectionLog, open: map[*connection]struct{}{},
	}
	ended := make(chan error, 1)
	go func() {
		if r.tls == nil {
			ended <- server.Serve(listener)
			return
		}
		ended <- server.ServeTLS(listener, "", "")
	}()
	watching, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop()
	config := r.config
	announce(config)
	wg.Go(func() { r.follow(watching, config, announce) })
	select {
	case err := <-ended:
		_ = server.Close() // closes the remaining connections
		return fmt.Errorf("serve webhooks: %w", err)
	case <-ctx.Done():
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), ShutdownTimeout)
	defer cancel()
	if err := server.Shutdown(closing); err != nil {
		_ = server.Close() // interrupts the requests that are still running
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve webhooks: %w", err)
	}
	return nil
}

// running is a started server.
type running struct {
	server   *Server
	listener net.Listener
	unix     bool
	tls      *tls.Config // nil for plain HTTP
	config   ClientConfig
	timeout  time.Duration
	logger   *slog.Logger
}

// maxBytes returns the largest size of a request.
func (r *running) maxBytes() int64 { return positiveOr(r.server.MaxBytes, DefaultMaxBytes) }

func positiveOr[N int | int64](n, otherwise N) N {
	if n > 0 {
		return n
	}
	return otherwise
}

// start listens, and prepares the certificates.
func (s *Server) start(ctx context.Context) (*running, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	r := &running{server: s, timeout: s.Timeout, logger: s.Logger}
	if r.timeout <= 0 {
		r.timeout = DefaultTimeout
	}
	if r.logger == nil {
		r.logger = slog.Default()
	}
	r.logger = r.logger.With(observe.NameKey, "kopf.webhooks")
	var err error
	if r.listener = s.Listener; r.listener == nil {
		if r.listener, r.unix, err = listen(ctx, cmp.Or(s.Address, defaultAddress)); err != nil {
			return nil, err
		}
	}
	if err := r.prepare(); err != nil {
		return nil, errors.Join(err, r.listener.Close())
	}
	return r, nil
}

// check returns an error if fields contradict each other.
func (s *Server) check() error {
	switch {
	case s.URL != "" && s.Service != nil:
		return errors.New("both URL and Service are set; set one")
	case s.ConfigFile != "" && (s.URL != "" || s.Service != nil || s.CAFile != ""):
		return errors.New("the ConfigFile and one of URL, Service and CAFile are set; set either the file or the others")
	case s.Listener != nil && s.Address != "":
		return errors.New("both Listener and Address are set; set one")
	case s.Listener != nil && s.Host == "" && s.URL == "" && s.Service == nil && s.ConfigFile == "":
		return errors.New("the cluster needs an address to reach the Listener; set Host, URL or Service")
	case (s.CertFile == "") != (s.KeyFile == ""):
		return errors.New("CertFile and KeyFile belong together; set both")
	case s.Path != "" && !strings.HasPrefix(s.Path, "/"):
		return fmt.Errorf("the Path %q does not begin with a slash", s.Path)
	}
	return nil
}

// prepare sets the TLS configuration and the configuration to announce.
func (r *running) prepare() error {
	s := r.server
	var own []byte // generated authority, in PEM
	if !r.unix && !s.Insecure {
		host, err := r.host()
		if err != nil {
			return err
		}
		if r.tls, own, err = r.tlsConfig(host); err != nil {
			return err
		}
	}
	r.config = ClientConfig{URL: s.URL, CABundle: own}
	switch {
	case s.ConfigFile != "":
		var err error
		if r.config, err = readClientConfig(s.ConfigFile); err != nil {
			return err
		}
	case s.Service != nil:
		service := *s.Service
		service.Path = cmp.Or(service.Path, s.Path)
		r.config.Service = &service
	case s.URL == "":
		host, err := r.host()
		if err != nil {
			return err
		}
		_, port, err := net.SplitHostPort(r.listener.Addr().String())
		if err != nil {
			return err
		}
		r.config.URL = "https://" + net.JoinHostPort(host, port) + s.Path
	}
	if s.CAFile != "" {
		var err error
		if r.config.CABundle, err = readCA(s.CAFile); err != nil {
			return err
		}
	}
	if err := r.config.Check(); err != nil {
		return err
	}
	return r.dumpCA(r.config.CABundle)
}

// host returns the host name by which the cluster reaches the server; empty if the server has a Service or a ConfigFile.
func (r *running) host() (string, error) {
	s := r.server
	if s.Host != "" {
		return s.Host, nil
	}
	if s.URL != "" {
		u, err := url.Parse(s.URL)
		if err != nil {
			return "", err
		}
		return u.Hostname(), nil
	}
	if s.Service != nil || s.ConfigFile != "" {
		return "", nil
	}
	if r.unix {
		return "", errors.New("the cluster cannot reach a Unix socket; set the URL or the Service")
	}
	host, _, err := net.SplitHostPort(cmp.Or(s.Address, defaultAddress))
	if err != nil {
		return "", err
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		return "", fmt.Errorf("the server listens on all addresses of %s, and none of them is for the cluster; set Host, URL or Service", r.listener.Addr())
	}
	return host, nil
}

// dumpCA writes the authorities to the file CADump.
func (r *running) dumpCA(bundle []byte) error {
	if r.server.CADump == "" {
		return nil
	}
	if len(bundle) == 0 {
		return errors.New("CADump: there are no authorities to write: the certificate is of a file, and there is no CAFile")
	}
	return os.WriteFile(r.server.CADump, bundle, 0o644) //nolint:gosec // certificates are public
}
