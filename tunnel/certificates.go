package tunnel

import "github.com/kopf-dev/kopf/sdk/webhook"

// Certificates are the files of the certificate that API servers see. With the zero value, an authority and a
// certificate for the address are made, and kept in memory. Ways that end TLS themselves, such as ngrok, take no others.
type Certificates struct {
	// CertFile and KeyFile are a certificate chain and its key, in PEM. They are read again when they change.
	CertFile, KeyFile string

	// CAFile is the authority that API servers must trust, in PEM, or [SystemCA]. If it is empty and CertFile is set,
	// API servers use their system roots.
	CAFile string

	// ClientCAFile has the authorities of clients, in PEM; others are rejected. Without it, the
	// server asks for no certificate.
	ClientCAFile string

	// DumpCA is a file that the authority is written to. None if it is empty.
	DumpCA string
}

// SystemCA is the [Certificates].CAFile for a tunnel that ends TLS with a certificate that the systems of API servers
// trust anyway.
const SystemCA = "system"

// apply sets the files of the server.
func (c Certificates) apply(s *webhook.Server) {
	if c.CAFile == SystemCA {
		c.CAFile = "" // it is about the tunnel, not the server
	}
	s.CertFile, s.KeyFile, s.CAFile, s.ClientCAFile, s.CADump = c.CertFile, c.KeyFile, c.CAFile, c.ClientCAFile, c.DumpCA
}
