package webhook

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m, os.Exit) }

// serve runs a server until the end of the test, and returns the client configuration that the server announces.
func serve(t *testing.T, s *Server, reviews http.HandlerFunc) ClientConfig {
	t.Helper()
	s.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	ctx, stop := context.WithCancel(context.Background())
	announced, ended := make(chan ClientConfig, 10), make(chan error, 1)
	go func() { ended <- s.Serve(ctx, reviews, func(c ClientConfig) { announced <- c }) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	select {
	case config := <-announced:
		return config
	case err := <-ended:
		ended <- nil
		t.Fatal(err)
		return ClientConfig{}
	}
}

// client returns a client that trusts the announced authorities.
func client(t *testing.T, config ClientConfig, certs ...tls.Certificate) *http.Client {
	t.Helper()
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(config.CABundle) {
		t.Fatalf("the announced authorities are %q", config.CABundle)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, Certificates: certs}, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func post(t *testing.T, c *http.Client, to, body string, header ...string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, to, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := c.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

func echo(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusTeapot)
		return
	}
	peer := "nobody"
	if req.TLS != nil && len(req.TLS.PeerCertificates) > 0 {
		peer = req.TLS.PeerCertificates[0].Subject.CommonName
	}
	_, _ = io.WriteString(w, req.URL.Path+" "+string(body)+" by "+peer+" "+req.Header.Get(ReplayHeader))
}

func TestServer_ZeroValueServesHTTPSWithItsOwnAuthority(t *testing.T) {
	dump := filepath.Join(t.TempDir(), "ca.pem")
	config := serve(t, &Server{CADump: dump}, echo)
	if written, err := os.ReadFile(dump); err != nil || !bytes.Equal(written, config.CABundle) {
		t.Errorf("dumped %q, %v", written, err)
	}
	if code, text := post(t, client(t, config), config.URL+"/check", "x", ReplayHeader, "1"); code != 200 || text != "/check x by nobody " {
		t.Errorf("%d: %s", code, text)
	}
	if code, text := post(t, &http.Client{Transport: &http.Transport{}}, config.URL, ""); code != 0 || !strings.Contains(text, "certificate") {
		t.Errorf("a client that does not know the authority: %d: %s", code, text)
	}
}

func TestServer_PrefixAndLimits(t *testing.T) {
	config := serve(t, &Server{Path: "/hooks", MaxBytes: 10}, echo)
	if !strings.HasSuffix(config.URL, "/hooks") {
		t.Errorf("announced %s", config.URL)
	}
	c := client(t, config)
	if code, text := post(t, c, config.URL+"/check", "x"); code != 200 || !strings.HasPrefix(text, "/hooks/check x") {
		t.Errorf("%d: %s", code, text)
	}
	for path, want := range map[string]int{"/check": 404, "/hooksome/check": 404, "/": 404} {
		if code, _ := post(t, c, strings.TrimSuffix(config.URL, "/hooks")+path, "x"); code != want {
			t.Errorf("%s: %d", path, code)
		}
	}
	if code, _ := post(t, c, config.URL, "more than ten bytes"); code != http.StatusRequestEntityTooLarge {
		t.Errorf("too large: %d", code)
	}
	// Without a length in advance, it is found out on the way.
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, config.URL, io.MultiReader(strings.NewReader("more than "), strings.NewReader("ten bytes")))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("too large without a length: %d", resp.StatusCode)
	}
}

func TestServer_ManyReviewsWaitForEachOther(t *testing.T) {
	running, release := make(chan struct{}), make(chan struct{})
	// The timeout also limits the TLS handshake, and the time to answer that there are too many.
	config := serve(t, &Server{MaxReviews: 1, Timeout: 3 * time.Second}, func(w http.ResponseWriter, _ *http.Request) {
		running <- struct{}{}
		<-release
	})
	c := client(t, config)
	first := make(chan int, 1)
	go func() {
		code, _ := post(t, c, config.URL, "")
		first <- code
	}()
	select {
	case <-running:
	case code := <-first:
		t.Fatalf("the first review is answered before it is handled: %d", code)
	}
	if code, text := post(t, c, config.URL, ""); code != http.StatusTooManyRequests {
		t.Errorf("%d: %s", code, text)
	}
	close(release)
	if code := <-first; code != http.StatusOK && code != 0 { // its time to write may be over by now
		t.Errorf("the first review: %d", code)
	}
}

// certificate makes a certificate for a name, and writes it with its key and its authority.
func certificate(t *testing.T, dir, name string) (certFile, keyFile, caFile string) {
	t.Helper()
	pair, authority, err := selfSigned([]string{name, "127.0.0.1"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	certFile, keyFile, caFile = filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"), filepath.Join(dir, "ca.crt")
	for file, text := range map[string][]byte{
		certFile: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]}),
		keyFile:  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}),
		caFile:   authority,
	} {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certFile, keyFile, caFile
}

func TestServer_CertificateFilesAreReadAgain(t *testing.T) {
	dir := t.TempDir()
	certFile, keyFile, caFile := certificate(t, dir, "first.example.com")
	var reads []string
	r := &running{server: &Server{CertFile: certFile, KeyFile: keyFile}, logger: slog.New(slog.NewTextHandler(t.Output(), nil))}
	config, authority, err := r.tlsConfig("localhost")
	if err != nil || authority != nil {
		t.Fatal(err, authority)
	}
	names := func() {
		cert, err := config.GetCertificate(nil)
		if err != nil {
			t.Fatal(err)
		}
		leaf, err := x509.ParseCertificate(cert.Certificate[0])
		if err != nil {
			t.Fatal(err)
		}
		reads = append(reads, leaf.DNSNames[0])
	}
	names()
	certificate(t, dir, "second.example.com")
	// The files are checked once a second: the test does not wait for it.
	wait := func() {
		deadline := time.Now().Add(30 * time.Second)
		for before := len(reads); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
			names()
			if reads[len(reads)-1] != reads[before-1] {
				return
			}
		}
		t.Fatal("the files are not read again")
	}
	wait()
	if err := os.WriteFile(certFile, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	names() // whatever is in the file
	if got := reads[len(reads)-1]; got != "second.example.com" {
		t.Errorf("the certificate is that of %s", got)
	}
	if _, err := readCA(caFile); err != nil {
		t.Error(err)
	}
}

// clientCertificate makes a certificate of a client that is its own authority, and writes it.
func clientCertificate(t *testing.T, name string) (pair tls.Certificate, file string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	cert := &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := sign(cert, cert, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "client.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, file
}

func TestServer_OnlyVerifiedClientsAreServed(t *testing.T) {
	known, file := clientCertificate(t, "apiserver")
	stranger, _ := clientCertificate(t, "stranger")
	config := serve(t, &Server{ClientCAFile: file}, echo)
	if code, text := post(t, client(t, config), config.URL, ""); code != 0 {
		t.Errorf("no certificate: %d: %s", code, text)
	}
	if code, text := post(t, client(t, config, stranger), config.URL, ""); code != 0 {
		t.Errorf("a certificate of a stranger: %d: %s", code, text)
	}
	if code, text := post(t, client(t, config, known), config.URL, ""); code != 200 || !strings.Contains(text, "by apiserver") {
		t.Errorf("a known certificate: %d: %s", code, text)
	}
}

func TestServer_AsksForNoCertificateThatItCannotVerify(t *testing.T) {
	known, _ := clientCertificate(t, "stranger")
	config := serve(t, &Server{}, echo)
	if code, text := post(t, client(t, config, known), config.URL, ""); code != 200 || !strings.Contains(text, "by nobody") {
		t.Errorf("%d: %s", code, text)
	}
}

func TestServer_UnixSocketPassesOnCertificateOfClient(t *testing.T) {
	dir, err := os.MkdirTemp("", "hook")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "s")
	// A killed server has left its socket.
	left, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	left.SetUnlinkOnClose(false)
	if err := left.Close(); err != nil {
		t.Fatal(err)
	}
	config := serve(t, &Server{Address: "unix:" + path, URL: "https://example.com/hooks"}, echo)
	if config.URL != "https://example.com/hooks" || config.CABundle != nil {
		t.Errorf("announced %+v", config)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket is %v, %v", info.Mode(), err)
	}
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}
	t.Cleanup(transport.CloseIdleConnections)
	c := &http.Client{Transport: transport}
	certFile, _, _ := certificate(t, dir, "peer")
	text, err := os.ReadFile(certFile)
	if err != nil {
		t.Fatal(err)
	}
	code, got := post(t, c, "http://x/check", "x", PeerCertificateHeader, url.QueryEscape(string(text)), ReplayHeader, "r1")
	if code != 200 || got != "/check x by Kopf webhooks r1" {
		t.Errorf("%d: %s", code, got)
	}
	if code, _ := post(t, c, "http://x/check", "x", PeerCertificateHeader, "nonsense"); code != http.StatusBadRequest {
		t.Errorf("no certificate in the header: %d", code)
	}
	if err := (&Server{Address: "unix:" + path, URL: "https://x"}).Serve(t.Context(), nil, nil); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("two at one socket: %v", err)
	}
}

func TestServer_ContradictionsAreErrors(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	for says, s := range map[string]*Server{
		"both URL and Service":    {URL: "https://x", Service: &Service{}},
		"belong together":         {CertFile: "x"},
		"begin with a slash":      {Path: "x"},
		"listens on all":          {Address: ":0"},
		"cannot reach a Unix":     {Address: "unix:" + filepath.Join(t.TempDir(), "s")},
		"wants https":             {URL: "http://x"},
		"no user, query":          {URL: "https://x/?a=b"},
		"lacks its namespace":     {Service: &Service{Name: "x"}},
		"choose another port":     {Address: busy.Addr().String()},
		"read the certificate":    {CertFile: "/nowhere", KeyFile: "/nowhere"},
		"read the authorities":    {CAFile: "/nowhere"},
		"set either the file":     {ConfigFile: "/nowhere", URL: "https://x"},
		"read the configuration":  {ConfigFile: "/nowhere"},
		"no authorities to write": {CADump: "/nowhere", Insecure: true, URL: "https://x"},
	} {
		err := s.Serve(t.Context(), nil, func(ClientConfig) {})
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
}

func TestParseService(t *testing.T) {
	for text, want := range map[string]Service{
		"ns/name":           {Namespace: "ns", Name: "name"},
		"ns/name:8443":      {Namespace: "ns", Name: "name", Port: 8443},
		"ns/name:8443/a/b":  {Namespace: "ns", Name: "name", Port: 8443, Path: "/a/b"},
		"ns/name/hooks":     {Namespace: "ns", Name: "name", Path: "/hooks"},
		"":                  {},
		"name":              {},
		"/name":             {},
		"ns/":               {},
		"ns/name:x":         {},
		"ns/name:0":         {},
		"ns/name:70000":     {},
		"ns/name/hooks?a=b": {},
	} {
		got, err := ParseService(text)
		if got != want || (err == nil) != (want.Name != "") {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

func TestConnectionLog_RepeatedFailuresWarnOnce(t *testing.T) {
	var out bytes.Buffer
	l := newConnectionLog(slog.New(slog.NewTextHandler(&out, nil)))
	for _, line := range []string{
		"http: TLS handshake error from 10.0.0.1:1234: remote error: tls: bad certificate\n",
		"http: TLS handshake error from 10.0.0.1:5678: remote error: tls: bad certificate\n",
		"http: TLS handshake error from 10.0.0.1:9: EOF\n",
	} {
		if _, err := l.Write([]byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(out.String(), "level=WARN"); n != 1 {
		t.Errorf("%d warnings: %s", n, &out)
	}
}
