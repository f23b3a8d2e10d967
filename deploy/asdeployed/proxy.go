package asdeployed

import (
	"bytes"
	"crypto/rand"
	"crypto/subtle"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/kopf-dev/kopf/sdk/printable"
)

// maxStatus bounds the body of a refusal that is read.
const maxStatus = 64 << 10

// Context is the name of the context in the kubeconfig of a [Proxy].
const Context = "as-deployed"

// Proxy passes requests to a cluster as a user, and reports those that the user is not permitted. Only who
// can read its kubeconfig can use it.
type Proxy struct {
	// Kubeconfig is the path of the file that connects a client to the proxy.
	Kubeconfig string

	server *http.Server
	served chan error
	client *http.Client
}

// User is the identity with which a [Proxy] passes requests on: a service account in the operator's namespace.
type User struct{ Name, Namespace string }

// NewProxy starts a proxy of a cluster, and writes its kubeconfig into a folder. It calls denied for each
// denied request, possibly concurrently. The proxy must be closed.
func NewProxy(config *rest.Config, user User, folder string, denied func(Denial)) (*Proxy, error) {
	config = rest.CopyConfig(config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user.Name}
	config.Timeout = 0 // streams have none
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", printable.Error(err))
	}
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", printable.Error(err))
	}
	certificate, authority, err := newCertificate()
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for the operator: %w", err)
	}
	token := rand.Text()
	p := &Proxy{Kubeconfig: filepath.Join(folder, "as-deployed.kubeconfig"), served: make(chan error, 1), client: client}
	if err := writeKubeconfig(p.Kubeconfig, "https://"+listener.Addr().String(), user.Namespace, authority, token); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	p.server = &http.Server{
		Handler: authorized(token, forward(base, client.Transport, denied)), ReadHeaderTimeout: 10 * time.Second,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS13},
		ErrorLog:  log.New(io.Discard, "", 0), // of connections that the operator closes
	}
	go func() { p.served <- p.server.ServeTLS(listener, "", "") }()
	return p, nil
}

// Close stops the proxy and its connections, and removes the kubeconfig.
func (p *Proxy) Close() error {
	err := errors.Join(p.server.Close(), os.Remove(p.Kubeconfig))
	if served := <-p.served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	p.client.CloseIdleConnections()
	return err
}

func writeKubeconfig(path, server, namespace string, authority []byte, token string) error {
	config := api.NewConfig()
	config.Clusters[Context] = &api.Cluster{Server: server, CertificateAuthorityData: authority}
	config.AuthInfos[Context] = &api.AuthInfo{Token: token}
	config.Contexts[Context] = &api.Context{Cluster: Context, AuthInfo: Context, Namespace: namespace}
	config.CurrentContext = Context
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		return fmt.Errorf("write the kubeconfig of the operator: %w", err)
	}
	return nil
}

// authorized passes on the requests that have the token.
func authorized(token string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		if subtle.ConstantTimeCompare([]byte(got), []byte(token)) != 1 {
			http.Error(w, "unauthorized", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// forward passes requests on with the transport, which adds the credentials and the user.
func forward(base *url.URL, transport http.RoundTripper, denied func(Denial)) http.Handler {
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(base)
			r.Out.Header.Del("Authorization")
			for name := range r.Out.Header {
				if strings.HasPrefix(name, "Impersonate-") {
					r.Out.Header.Del(name) // the operator's own user is the one to try
				}
			}
		},
		Transport:     transport,
		FlushInterval: -1, // watches deliver each event at once
		ErrorLog:      log.New(io.Discard, "", 0),
		ModifyResponse: func(resp *http.Response) error {
			if resp.StatusCode != http.StatusForbidden {
				return nil
			}
			body, err := io.ReadAll(io.LimitReader(resp.Body, maxStatus))
			if err != nil {
				return err
			}
			resp.Body = readCloser{io.MultiReader(bytes.NewReader(body), resp.Body), resp.Body}
			if d, ok := parseDenial(body); ok {
				denied(d)
			}
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, "the cluster does not answer: "+err.Error(), http.StatusBadGateway)
		},
	}
}

type readCloser struct {
	io.Reader
	io.Closer
}
