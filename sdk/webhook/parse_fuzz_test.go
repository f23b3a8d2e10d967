package webhook

import (
	"encoding/json"
	"encoding/pem"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func FuzzParseService(f *testing.F) {
	for _, seed := range []string{"prod/claims", "prod/claims:8443/hooks", "a/b:0", "/b", "a/", "a/b?x", "a/b:x/y", "a/b//"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseService(text)
		if err != nil {
			return
		}
		again, err := ParseService(s.String())
		if s.Port == 0 {
			s.Port = 443
		}
		if err != nil || again != s {
			t.Fatalf("%q: %+v becomes %+v, %v", text, s, again, err)
		}
	})
}

// FuzzParseCertificates reads the header in which a listener passes on the certificate of a client.
func FuzzParseCertificates(f *testing.F) {
	pair, authority, err := selfSigned([]string{"client"}, time.Now())
	if err != nil {
		f.Fatal(err)
	}
	leaf := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]})
	f.Add(url.QueryEscape(string(leaf)))
	f.Add(url.QueryEscape(string(leaf) + string(authority)))
	f.Add("-----BEGIN+CERTIFICATE-----%0AAAAA%0A-----END+CERTIFICATE-----%0A")
	f.Add("%zz")
	f.Fuzz(func(t *testing.T, escaped string) {
		certs, err := parseCertificates(escaped)
		if (err == nil) != (len(certs) > 0) {
			t.Fatalf("%q: %d certificates, %v", escaped, len(certs), err)
		}
	})
}

func FuzzParseClientConfig(f *testing.F) {
	_, authority, err := selfSigned([]string{"x"}, time.Now())
	if err != nil {
		f.Fatal(err)
	}
	for _, c := range []configFile{{URL: "https://x/y", CABundle: authority}, {Service: "a/b:1/c", Lost: "gone"}, {URL: "https://x", Service: "a/b"}, {URL: "http://x"}} {
		text, err := json.Marshal(c)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(`{"url":"https://x","caBundle":"AAAA"}`))
	path := filepath.Join(f.TempDir(), "w")
	f.Fuzz(func(t *testing.T, text []byte) {
		config, err := parseClientConfig(text)
		if err != nil {
			return
		}
		if err := config.WriteFile(path); err != nil {
			t.Fatal(err)
		}
		written, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		again, err := parseClientConfig(written)
		if err != nil || !again.same(config) {
			t.Fatalf("%q: %+v becomes %+v, %v", text, config, again, err)
		}
	})
}
