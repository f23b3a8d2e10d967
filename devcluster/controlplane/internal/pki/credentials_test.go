package pki

import (
	"path/filepath"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
)

func TestKubeconfig_IsComplete(t *testing.T) {
	c, err := ensure(t, filepath.Join(t.TempDir(), "pki")).AdminCredentials()
	if err != nil {
		t.Fatal(err)
	}
	body, err := c.Kubeconfig("https://127.0.0.1:1", "kopf-dev")
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(body)
	if err != nil || config.Host != "https://127.0.0.1:1" || len(config.CertData) == 0 || len(config.KeyData) == 0 || len(config.CAData) == 0 {
		t.Errorf("got %s (%v)", body, err)
	}
}
