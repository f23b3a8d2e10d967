package kopftest

import (
	"os"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// Kubeconfig writes a kubeconfig file for the cluster and returns its path. The file is for kubectl and other programs, and
// for operators with login handlers. Its default namespace is the test's namespace. It is deleted at the end of the test.
func (c *Cluster) Kubeconfig() string {
	c.t.Helper()
	config, err := c.kubeconfig()
	if err != nil {
		c.t.Fatalf("kopftest: the kubeconfig file of the cluster: %v", err)
	}
	path := filepath.Join(c.t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		c.t.Fatalf("kopftest: %v", err)
	}
	return path
}

func (c *Cluster) kubeconfig() (*api.Config, error) {
	if c.lasting { // only the cluster's own file may have the credentials, such as a credential plugin
		config, err := loader(os.Getenv(kubeconfigVar)).RawConfig()
		if err != nil {
			return nil, err
		}
		if name := os.Getenv(contextVar); name != "" {
			config.CurrentContext = name
		}
		if current := config.Contexts[config.CurrentContext]; current != nil {
			current.Namespace = c.Namespace
		}
		return &config, nil
	}
	const name = "kopftest"
	return &api.Config{
		CurrentContext: name,
		Contexts:       map[string]*api.Context{name: {Cluster: name, AuthInfo: name, Namespace: c.Namespace}},
		Clusters: map[string]*api.Cluster{name: {
			Server: c.Config.Host, CertificateAuthority: c.Config.CAFile, CertificateAuthorityData: c.Config.CAData,
		}},
		AuthInfos: map[string]*api.AuthInfo{name: {
			Token: c.Config.BearerToken, ClientCertificate: c.Config.CertFile, ClientCertificateData: c.Config.CertData,
			ClientKey: c.Config.KeyFile, ClientKeyData: c.Config.KeyData,
		}},
	}, nil
}

// loader reads a kubeconfig file.
func loader(path string) clientcmd.ClientConfig {
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		&clientcmd.ClientConfigLoadingRules{ExplicitPath: path},
		&clientcmd.ConfigOverrides{CurrentContext: os.Getenv(contextVar)})
}
