package pki

import (
	"fmt"
	"os"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Credentials are what an administrator needs, in memory.
type Credentials struct{ ca, cert, key []byte }

// AdminCredentials reads those of the administrator.
func (s Store) AdminCredentials() (Credentials, error) {
	var c Credentials
	for name, into := range map[string]*[]byte{CA: &c.ca, Admin: &c.cert, AdminKey: &c.key} {
		body, err := os.ReadFile(s.Path(name))
		if err != nil {
			return Credentials{}, fmt.Errorf("reading the credentials: %w", err)
		}
		*into = body
	}
	return c, nil
}

// RESTConfig is a client's configuration, without a limit on the rate of requests:
// server and clients share one process.
func (c Credentials) RESTConfig(server, userAgent string) *rest.Config {
	return &rest.Config{
		Host:            server,
		UserAgent:       userAgent,
		QPS:             -1,
		TLSClientConfig: rest.TLSClientConfig{CAData: c.ca, CertData: c.cert, KeyData: c.key},
	}
}

// Kubeconfig is the file for kubectl and its like, with one context.
func (c Credentials) Kubeconfig(server, context string) ([]byte, error) {
	config := clientcmdapi.NewConfig()
	config.CurrentContext = context
	config.Clusters[context] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: c.ca}
	config.AuthInfos[context] = &clientcmdapi.AuthInfo{ClientCertificateData: c.cert, ClientKeyData: c.key}
	config.Contexts[context] = &clientcmdapi.Context{Cluster: context, AuthInfo: context, Namespace: "default"}
	body, err := clientcmd.Write(*config)
	if err != nil {
		return nil, fmt.Errorf("encoding the kubeconfig: %w", err)
	}
	return body, nil
}
