package pki

import (
	"crypto/x509"
	"encoding/pem"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func ensure(t *testing.T, dir string) Store {
	t.Helper()
	s, err := Ensure(dir, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func certificate(t *testing.T, s Store, name string) *x509.Certificate {
	t.Helper()
	body, err := os.ReadFile(s.Path(name))
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(body)
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestEnsure_CertificatesHavePurpose(t *testing.T) {
	s := ensure(t, filepath.Join(t.TempDir(), "pki"))
	for _, test := range []struct {
		cert, ca string
		usage    x509.ExtKeyUsage
		host     string
	}{
		{Server, CA, x509.ExtKeyUsageServerAuth, "127.0.0.1"},
		{Server, CA, x509.ExtKeyUsageServerAuth, "localhost"},
		{Admin, CA, x509.ExtKeyUsageClientAuth, ""},
		{FrontProxy, FrontProxyCA, x509.ExtKeyUsageClientAuth, ""},
	} {
		roots := x509.NewCertPool()
		roots.AddCert(certificate(t, s, test.ca))
		name := test.host
		if net.ParseIP(name) != nil {
			name = "[" + name + "]"
		}
		_, err := certificate(t, s, test.cert).Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{test.usage}, DNSName: name})
		if err != nil {
			t.Errorf("%s by %s for %q: %v", test.cert, test.ca, test.host, err)
		}
	}
	if groups := certificate(t, s, Admin).Subject.Organization; len(groups) != 1 || groups[0] != "system:masters" {
		t.Errorf("the administrator is in %q", groups)
	}
}

func TestEnsure_CreatesCertificatesOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pki")
	first := certificate(t, ensure(t, dir), CA)
	if second := certificate(t, ensure(t, dir), CA); !first.Equal(second) {
		t.Error("the second time there is another one")
	}
}

func TestEnsure_ReplacesIncompleteStore(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pki")
	if err := os.Mkdir(dir+".tmp", 0o700); err != nil {
		t.Fatal(err)
	}
	s := ensure(t, dir)
	for _, name := range []string{CA, CAKey, Server, ServerKey, Admin, AdminKey, FrontProxyCA, FrontProxyCAKey, FrontProxy, FrontProxyKey, ServiceAccountID} {
		info, err := os.Stat(s.Path(name))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v (%v)", name, info, err)
		}
	}
}
