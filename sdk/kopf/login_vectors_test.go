package kopf

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/internal/vectors"
)

type kubeconfigVector struct {
	Files      []json.RawMessage `json:"files"`
	Connection *connection       `json:"connection"`
	Error      string            `json:"error"`
}

type connection struct {
	Server           string  `json:"server"`
	CAPath           *string `json:"ca_path"`
	CAData           *string `json:"ca_data"`
	Insecure         *bool   `json:"insecure"`
	CertificatePath  *string `json:"certificate_path"`
	CertificateData  *string `json:"certificate_data"`
	PrivateKeyPath   *string `json:"private_key_path"`
	PrivateKeyData   *string `json:"private_key_data"`
	Username         *string `json:"username"`
	Password         *string `json:"password"`
	Scheme           *string `json:"scheme"`
	Token            *string `json:"token"`
	DefaultNamespace *string `json:"default_namespace"`
	ProxyURL         *string `json:"proxy_url"`
	Priority         int     `json:"priority"`
}

// some is a value that is given; absent and empty are the same for a connection.
func some[V comparable](v V) *V {
	if v == *new(V) {
		return nil
	}
	return &v
}

func connectionOf(info *ConnectionInfo) (*connection, error) {
	c, tls := info.Config, info.Config.TLSClientConfig
	found := &connection{
		Server: c.Host, Username: some(c.Username), Password: some(c.Password), Token: some(c.BearerToken),
		CAPath: some(tls.CAFile), Insecure: some(tls.Insecure),
		CertificatePath: some(tls.CertFile), PrivateKeyPath: some(tls.KeyFile),
		DefaultNamespace: some(info.DefaultNamespace), Priority: info.Priority,
	}
	for data, field := range map[*[]byte]**string{
		&tls.CAData: &found.CAData, &tls.CertData: &found.CertificateData, &tls.KeyData: &found.PrivateKeyData,
	} {
		if len(*data) > 0 {
			text, err := json.Marshal(*data) // base64, as in the file
			if err != nil {
				return nil, err
			}
			*field = new(strings.Trim(string(text), `"`))
		}
	}
	if c.Proxy != nil {
		url, err := c.Proxy(&http.Request{})
		if err != nil {
			return nil, err
		}
		found.ProxyURL = new(url.String())
	}
	return found, nil
}

func TestVectors_Kubeconfig(t *testing.T) {
	vectors.Run(t, "kubeconfig.json", func(t *testing.T, v *kubeconfigVector) error {
		var paths []string
		for i, file := range v.Files {
			path := filepath.Join(t.TempDir(), fmt.Sprintf("config-%d", i))
			if err := os.WriteFile(path, file, 0o600); err != nil {
				return err
			}
			paths = append(paths, path)
		}
		t.Setenv("KUBECONFIG", strings.Join(paths, string(filepath.ListSeparator)))
		info, err := LoginWithKubeconfig(t.Context(), nil)
		if v.Error != "" {
			if err == nil {
				return fmt.Errorf("got %+v, want an error", info)
			}
			return nil
		}
		if err != nil || info == nil {
			return fmt.Errorf("got nothing: %w", err)
		}
		got, err := connectionOf(info)
		if err != nil {
			return err
		}
		if diff := cmp.Diff(v.Connection, got); diff != "" {
			return fmt.Errorf("(-want +got)\n%s", diff)
		}
		return nil
	})
}
