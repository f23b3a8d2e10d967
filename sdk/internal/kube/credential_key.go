package kube

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd/api"
)

// Identify returns the key of a configuration, which is equal for the same cluster with the
// same credentials, and whether the credentials are renewable; see [Credential]. The key is
// empty if the configuration has functions, except for a proxy function.
func Identify(config *rest.Config) (key string, renewable bool) {
	tls := config.TLSClientConfig
	renewable = config.BearerTokenFile != "" || tls.CertFile != "" || tls.KeyFile != "" ||
		config.ExecProvider != nil || config.AuthProvider != nil
	proxy, known := proxyOf(config)
	if config.Transport != nil || config.WrapTransport != nil || config.Dial != nil || !known ||
		config.ExecProvider != nil && config.ExecProvider.Config != nil {
		return "", renewable
	}
	identity := struct {
		Host, APIPath, Proxy, Username, Password, Token, TokenFile string
		Impersonate                                                rest.ImpersonationConfig
		TLS                                                        rest.TLSClientConfig
		Provider                                                   *api.AuthProviderConfig
		Exec                                                       *exec
	}{
		config.Host, config.APIPath, proxy, config.Username, config.Password, config.BearerToken, config.BearerTokenFile,
		config.Impersonate, tls, config.AuthProvider, nil,
	}
	if p := config.ExecProvider; p != nil {
		identity.Exec = &exec{p.Command, p.Args, p.Env, p.APIVersion, p.ProvideClusterInfo}
	}
	if identity.TokenFile != "" {
		identity.Token = "" // the file may have another one by now
	}
	text, err := json.Marshal(identity)
	if err != nil {
		return "", renewable
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), renewable
}

// proxyOf returns the address of the configuration's own proxy; empty if there is none.
func proxyOf(config *rest.Config) (proxy string, known bool) {
	if config.Proxy == nil {
		return "", true
	}
	server, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return "", false
	}
	through, err := config.Proxy(&http.Request{Method: http.MethodGet, URL: server, Host: server.Host, Header: http.Header{}})
	switch {
	case err != nil:
		return "", false
	case through == nil:
		return "", true
	}
	return through.String(), true
}

// exec identifies a plugin that provides credentials.
type exec struct {
	Command            string
	Args               []string
	Env                []api.ExecEnvVar
	APIVersion         string
	ProvideClusterInfo bool
}
