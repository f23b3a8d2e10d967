package pki

import (
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
)

func (m maker) writeCert(name string, cert *x509.Certificate) error {
	return m.writePEM(name, "CERTIFICATE", cert.Raw)
}

func (m maker) writeKey(name string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return fmt.Errorf("encode %s: %w", name, err)
	}
	return m.writePEM(name, "EC PRIVATE KEY", der)
}

func (m maker) writePEM(name, kind string, der []byte) error {
	body := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
	if err := os.WriteFile(filepath.Join(m.dir, name), body, 0o600); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}
