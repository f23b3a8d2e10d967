package kube

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd/api"
)

// Identify tells configurations apart: the key is the same for the same cluster and the
// same credentials, and empty for those with functions in them, of which nothing is known,
// except for the proxy that one of them names. See [Credential] for both results.
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
		identity.Token = "" // it is only what the file had at the time
	}
	text, err := json.Marshal(identity)
	if err != nil {
		return "", renewable // nothing in it can fail; if so, it is like nothing else
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), renewable
}

// proxyOf is the way to the server; empty if there is none of the configuration's own.
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

// exec is what matters of a plugin that makes credentials.
type exec struct {
	Command            string
	Args               []string
	Env                []api.ExecEnvVar
	APIVersion         string
	ProvideClusterInfo bool
}
