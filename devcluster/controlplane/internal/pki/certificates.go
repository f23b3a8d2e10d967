// Package pki creates the certificates and keys of a new cluster.
package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// The files of a [Store]. Names ending in Key, and ServiceAccountID, have private keys.
const (
	CA               = "ca.crt"
	CAKey            = "ca.key"
	Server           = "apiserver.crt"
	ServerKey        = "apiserver.key"
	Admin            = "admin.crt"
	AdminKey         = "admin.key"
	FrontProxyCA     = "front-proxy-ca.crt"
	FrontProxyCAKey  = "front-proxy-ca.key"
	FrontProxy       = "front-proxy-client.crt"
	FrontProxyKey    = "front-proxy-client.key"
	ServiceAccountID = "sa.key"
)

// FrontProxyName is the common name that the API server accepts for a front proxy.
const FrontProxyName = "front-proxy-client"

// validity is the validity of the certificates, which are never renewed.
const validity = 10 * 365 * 24 * time.Hour

// Store is the directory with the certificates and keys.
type Store struct{ dir string }

// Ensure returns the store in a directory, and creates it if it is missing.
func Ensure(dir string, now time.Time) (Store, error) {
	if _, err := os.Stat(dir); err == nil {
		return Store{dir}, nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return Store{}, fmt.Errorf("find the certificates: %w", err)
	}
	// Create it atomically: an incomplete store would never be completed.
	building := dir + ".tmp"
	if err := os.RemoveAll(building); err != nil {
		return Store{}, fmt.Errorf("remove incomplete certificates: %w", err)
	}
	if err := os.Mkdir(building, 0o700); err != nil {
		return Store{}, fmt.Errorf("create the directory of the certificates: %w", err)
	}
	if err := (maker{dir: building, now: now}).fill(); err != nil {
		return Store{}, fmt.Errorf("create the certificates: %w", err)
	}
	if err := os.Rename(building, dir); err != nil {
		return Store{}, fmt.Errorf("move the certificates into place: %w", err)
	}
	return Store{dir}, nil
}

// Path returns the path of a file.
func (s Store) Path(name string) string { return filepath.Join(s.dir, name) }

// maker creates the files in a directory.
type maker struct {
	dir string
	now time.Time
}

// issuer signs certificates.
type issuer struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func (m maker) fill() error {
	ca, err := m.authority("controlplane-ca", CA, CAKey)
	if err != nil {
		return err
	}
	front, err := m.authority("front-proxy-ca", FrontProxyCA, FrontProxyCAKey)
	if err != nil {
		return err
	}
	server := x509.Certificate{
		Subject:     pkix.Name{CommonName: "kube-apiserver"},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:    []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"},
		// The last one is the address of the service "kubernetes".
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback, net.IPv4(10, 0, 0, 1)},
	}
	if err := m.issue(server, ca, Server, ServerKey); err != nil {
		return err
	}
	// The group system:masters bypasses RBAC, so it works before the roles exist.
	admin := client("kubernetes-admin", "system:masters")
	if err := m.issue(admin, ca, Admin, AdminKey); err != nil {
		return err
	}
	if err := m.issue(client(FrontProxyName), front, FrontProxy, FrontProxyKey); err != nil {
		return err
	}
	key, err := newKey()
	if err != nil {
		return err
	}
	return m.writeKey(ServiceAccountID, key)
}

func client(name string, groups ...string) x509.Certificate {
	return x509.Certificate{
		Subject:     pkix.Name{CommonName: name, Organization: groups},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
}

func (m maker) authority(name, certFile, keyFile string) (issuer, error) {
	key, err := newKey()
	if err != nil {
		return issuer{}, err
	}
	template := x509.Certificate{Subject: pkix.Name{CommonName: name}, IsCA: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature}
	cert, err := m.sign(template, issuer{cert: &template, key: key}, key)
	if err != nil {
		return issuer{}, err
	}
	return issuer{cert: cert, key: key}, errors.Join(m.writeCert(certFile, cert), m.writeKey(keyFile, key))
}

func (m maker) issue(template x509.Certificate, by issuer, certFile, keyFile string) error {
	key, err := newKey()
	if err != nil {
		return err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	cert, err := m.sign(template, by, key)
	if err != nil {
		return err
	}
	return errors.Join(m.writeCert(certFile, cert), m.writeKey(keyFile, key))
}

func (m maker) sign(template x509.Certificate, by issuer, key *ecdsa.PrivateKey) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, fmt.Errorf("generate a serial number: %w", err)
	}
	template.SerialNumber = serial
	template.BasicConstraintsValid = true
	template.NotBefore, template.NotAfter = m.now.Add(-time.Hour), m.now.Add(validity)
	der, err := x509.CreateCertificate(rand.Reader, &template, by.cert, key.Public(), by.key)
	if err != nil {
		return nil, fmt.Errorf("sign %s: %w", template.Subject.CommonName, err)
	}
	return x509.ParseCertificate(der)
}

func newKey() (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generate a key: %w", err)
	}
	return key, nil
}
