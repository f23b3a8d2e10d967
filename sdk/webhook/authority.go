package webhook

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"
)

const (
	// lifetime of generated certificates, which exist only in the memory of the process.
	lifetime = 10 * 365 * 24 * time.Hour
	// clockSkew is how far an API server's clock may be behind this machine's clock.
	clockSkew = time.Hour
)

// selfSigned generates an authority, and a certificate for names and addresses that is signed by the authority. It drops
// the authority's key, so that the key cannot sign other certificates.
func selfSigned(names []string, now time.Time) (cert *tls.Certificate, authority []byte, err error) {
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	ca := &x509.Certificate{
		Subject:   pkix.Name{CommonName: "Kopf webhooks"},
		NotBefore: now.Add(-clockSkew), NotAfter: now.Add(lifetime),
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		IsCA:     true, BasicConstraintsValid: true, MaxPathLenZero: true,
	}
	caDER, err := sign(ca, ca, &caKey.PublicKey, caKey)
	if err != nil {
		return nil, nil, err
	}
	if ca, err = x509.ParseCertificate(caDER); err != nil {
		return nil, nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	leaf := &x509.Certificate{
		Subject:   pkix.Name{CommonName: "Kopf webhooks"},
		NotBefore: ca.NotBefore, NotAfter: ca.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
	}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			leaf.IPAddresses = append(leaf.IPAddresses, ip)
		} else {
			leaf.DNSNames = append(leaf.DNSNames, name)
		}
	}
	der, err := sign(leaf, ca, &key.PublicKey, caKey)
	if err != nil {
		return nil, nil, err
	}
	authority = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: caDER})
	return &tls.Certificate{Certificate: [][]byte{der, caDER}, PrivateKey: key}, authority, nil
}

func sign(cert, by *x509.Certificate, key *ecdsa.PublicKey, with *ecdsa.PrivateKey) ([]byte, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	cert.SerialNumber = serial
	der, err := x509.CreateCertificate(rand.Reader, cert, by, key, with)
	if err != nil {
		return nil, fmt.Errorf("make a certificate: %w", err)
	}
	return der, nil
}
