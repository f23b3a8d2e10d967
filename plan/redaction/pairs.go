package redaction

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"time"
)

// The types of Secrets whose values handlers parse, and the fields with these values.
const (
	tlsType, tlsCertificate, tlsKey  = "kubernetes.io/tls", "tls.crt", "tls.key"
	registryType, registryField      = "kubernetes.io/dockerconfigjson", ".dockerconfigjson"
	oldRegistryType, oldRegistryName = "kubernetes.io/dockercfg", ".dockercfg"
)

// pair is a certificate with its key, in PEM.
type pair struct{ certificate, key []byte }

// kept returns a replacement that handlers can parse: a new certificate or key, or a registry configuration without passwords. It
// returns nil for all other values.
func (r *Redactor) kept(kind string, data map[string][]byte, name string) ([]byte, error) {
	switch {
	case len(data[name]) == 0:
		return nil, nil
	case kind == tlsType && (name == tlsCertificate || name == tlsKey):
		fresh, err := r.pair(data[tlsCertificate], data[tlsKey])
		if name == tlsCertificate {
			return fresh.certificate, err
		}
		return fresh.key, err
	case kind == registryType && name == registryField:
		return []byte(`{"auths":{}}`), nil
	case kind == oldRegistryType && name == oldRegistryName:
		return []byte(`{}`), nil
	default:
		return nil, nil
	}
}

// pair returns the new pair that replaces a certificate and its key. Equal pairs have equal replacements.
func (r *Redactor) pair(certificate, key []byte) (pair, error) {
	hash := r.hash(certificate, key)
	r.mu.Lock()
	defer r.mu.Unlock()
	if known, ok := r.pairs[hash]; ok {
		return known, nil
	}
	fresh, err := newPair(certificate)
	if err != nil {
		return pair{}, fmt.Errorf("replace a certificate: %w", err)
	}
	r.pairs[hash] = fresh
	return fresh, nil
}

// newPair returns a new key and a certificate for it. The certificate has the public fields of the given one, because handlers read them.
func newPair(like []byte) (pair, error) {
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "redacted"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(1, 0, 0),
	}
	if block, _ := pem.Decode(like); block != nil {
		if old, err := x509.ParseCertificate(block.Bytes); err == nil {
			template = &x509.Certificate{
				SerialNumber: old.SerialNumber, Subject: old.Subject, NotBefore: old.NotBefore, NotAfter: old.NotAfter,
				KeyUsage: old.KeyUsage, ExtKeyUsage: old.ExtKeyUsage, BasicConstraintsValid: old.BasicConstraintsValid, IsCA: old.IsCA,
				DNSNames: old.DNSNames, IPAddresses: old.IPAddresses, URIs: old.URIs, EmailAddresses: old.EmailAddresses,
			}
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair{}, err
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return pair{}, err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return pair{}, err
	}
	return pair{
		certificate: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}),
		key:         pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}),
	}, nil
}
