package webhook

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/observe"
)

// reread is the minimum time between two checks of files for changes.
const reread = time.Second

// tlsConfig returns the TLS configuration for the host, and the authority if it generated a certificate.
func (r *running) tlsConfig(host string) (config *tls.Config, authority []byte, err error) {
	s := r.server
	config = &tls.Config{MinVersion: tls.VersionTLS12}
	if s.TLS != nil {
		config = s.TLS.Clone()
	}
	switch {
	case s.CertFile != "":
		pair := &reloaded[tls.Certificate]{running: r, files: []string{s.CertFile, s.KeyFile}, read: func() (*tls.Certificate, error) {
			cert, err := tls.LoadX509KeyPair(s.CertFile, s.KeyFile)
			return &cert, err
		}}
		if _, err := pair.get(); err != nil {
			return nil, nil, fmt.Errorf("read the certificate: %w", err)
		}
		config.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return pair.get() }
	case len(config.Certificates) == 0 && config.GetCertificate == nil:
		cert, made, err := selfSigned(s.names(host), time.Now())
		if err != nil {
			return nil, nil, err
		}
		config.Certificates, authority = []tls.Certificate{*cert}, made
	}
	if s.ClientCAFile == "" {
		return config, authority, nil
	}
	pool := &reloaded[x509.CertPool]{running: r, files: []string{s.ClientCAFile}, read: func() (*x509.CertPool, error) {
		return readPool(s.ClientCAFile)
	}}
	if config.ClientCAs, err = pool.get(); err != nil {
		return nil, nil, err
	}
	config.ClientAuth = tls.RequireAndVerifyClientCert
	base := config.Clone()
	base.NextProtos = append(slices.Clone(base.NextProtos), "h2", "http/1.1")
	config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		authorities, err := pool.get()
		if err != nil {
			return nil, err
		}
		config := base.Clone()
		config.ClientCAs = authorities
		return config, nil
	}
	return config, authority, nil
}

// names returns the names and addresses for the generated certificate.
func (s *Server) names(host string) []string {
	names := []string{"localhost", "127.0.0.1", "::1"}
	if host != "" {
		names = append(names, host)
	}
	if s.Service != nil {
		name := s.Service.Name + "." + s.Service.Namespace
		names = append(names, name+".svc", name+".svc.cluster.local")
	}
	names = append(names, s.ExtraNames...)
	slices.Sort(names)
	return slices.Compact(names)
}

// reloaded is a value that is read from files, and read again when the files change. It is safe for concurrent use.
type reloaded[T any] struct {
	running *running
	files   []string
	read    func() (*T, error)

	mu      sync.Mutex
	value   *T // nil before the first call
	stamps  []stamp
	checked time.Time
}

// stamp distinguishes versions of a file.
type stamp struct {
	size     int64
	modified time.Time
}

// get returns the current value. If the changed files cannot be read, the value is from the previous files.
func (r *reloaded[T]) get() (*T, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := time.Now(); r.value == nil || now.Sub(r.checked) >= reread {
		r.checked = now
		stamps := make([]stamp, len(r.files))
		for i, file := range r.files {
			if info, err := os.Stat(file); err == nil {
				stamps[i] = stamp{info.Size(), info.ModTime()}
			}
		}
		if r.value == nil || !slices.Equal(stamps, r.stamps) {
			value, err := r.read()
			switch {
			case err == nil:
				r.value, r.stamps = value, stamps
			case r.value == nil:
				return nil, err
			default:
				// The files may be half-written: the next call reads them again.
				r.running.logger.Warn("Cannot read the files of the webhook server again; keeping their previous content",
					observe.EventKey, observe.LogWebhookFiles, "files", r.files, "error", err)
			}
		}
	}
	return r.value, nil
}

func readPool(file string) (*x509.CertPool, error) {
	text, err := readCA(file)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(text)
	return pool, nil
}

// readCA reads a file with certificates of authorities.
func readCA(file string) ([]byte, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the authorities: %w", err)
	}
	if !x509.NewCertPool().AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("read the authorities: %s has no certificate in PEM", file)
	}
	return text, nil
}
