package pki

import (
	"fmt"
	"os"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Credentials are the credentials of an administrator.
type Credentials struct{ ca, cert, key []byte }

// AdminCredentials reads the credentials of the administrator.
func (s Store) AdminCredentials() (Credentials, error) {
	var c Credentials
	for name, into := range map[string]*[]byte{CA: &c.ca, Admin: &c.cert, AdminKey: &c.key} {
		body, err := os.ReadFile(s.Path(name))
		if err != nil {
			return Credentials{}, fmt.Errorf("read the credentials: %w", err)
		}
		*into = body
	}
	return c, nil
}

// RESTConfig returns a client configuration. It has no rate limit, because the server and its
// clients run in the same process.
func (c Credentials) RESTConfig(server, userAgent string) *rest.Config {
	return &rest.Config{
		Host:            server,
		UserAgent:       userAgent,
		QPS:             -1,
		TLSClientConfig: rest.TLSClientConfig{CAData: c.ca, CertData: c.cert, KeyData: c.key},
	}
}

// Kubeconfig returns a kubeconfig with one context.
func (c Credentials) Kubeconfig(server, context string) ([]byte, error) {
	config := clientcmdapi.NewConfig()
	config.CurrentContext = context
	config.Clusters[context] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: c.ca}
	config.AuthInfos[context] = &clientcmdapi.AuthInfo{ClientCertificateData: c.cert, ClientKeyData: c.key}
	config.Contexts[context] = &clientcmdapi.Context{Cluster: context, AuthInfo: context, Namespace: "default"}
	body, err := clientcmd.Write(*config)
	if err != nil {
		return nil, fmt.Errorf("encode the kubeconfig: %w", err)
	}
	return body, nil
}
