package devcluster

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kopf-dev/kopf/internal/workdir"
	"github.com/kopf-dev/kopf/sdk/printable"
)

// syncInterval is how often a [Connection] compares its credentials with the user's kubeconfig.
const syncInterval = 5 * time.Second

// Connection is a kubeconfig with a single context, for a program that must not see another cluster. Only the user can
// read the file. Tokens and certificates in separate files stay there; the connection has the absolute paths. A connection
// copies renewed credentials from the user's kubeconfig, and writes OpenID Connect tokens that the program renewed back.
type Connection struct {
	// Kubeconfig is the path of the file.
	Kubeconfig string

	cluster *Cluster
	folder  *workdir.Dir
	server  string
	written []byte
	stop    chan struct{}
	tasks   sync.WaitGroup
}

// Connect writes a kubeconfig whose only context leads to the cluster. The connection must be closed, which removes
// the file. The next connection of the user removes the files of killed processes.
func (c *Cluster) Connect() (*Connection, error) {
	folder, err := workdir.ForConnection()
	if err != nil {
		return nil, err
	}
	k := &Connection{
		Kubeconfig: filepath.Join(folder.Path, "kubeconfig"), cluster: c, folder: folder, stop: make(chan struct{}),
	}
	config, err := c.only(http.ProxyFromEnvironment, os.LookupEnv)
	if err == nil {
		k.server = serverOf(config)
		err = k.write(config)
	}
	if err != nil {
		return nil, errors.Join(err, folder.Remove())
	}
	k.tasks.Go(k.follow)
	return k, nil
}

// Close removes the kubeconfig. The program that uses it must have ended.
func (k *Connection) Close() error {
	close(k.stop)
	k.tasks.Wait()
	return errors.Join(k.giveBack(), k.folder.Remove())
}

// follow copies renewed credentials from the user's kubeconfig. An unreadable kubeconfig is read again at the next tick;
// the program keeps the previous credentials until then.
func (k *Connection) follow() {
	tick := time.NewTicker(syncInterval)
	defer tick.Stop()
	for {
		select {
		case <-k.stop:
			return
		case <-tick.C:
			_ = k.sync()
		}
	}
}

// sync exchanges renewed credentials between the two kubeconfigs. A context that now leads to another server is another
// cluster, which the program must not see.
func (k *Connection) sync() error {
	if err := k.giveBack(); err != nil {
		return err
	}
	config, err := k.cluster.only(http.ProxyFromEnvironment, os.LookupEnv)
	if err != nil || serverOf(config) != k.server {
		return err
	}
	return k.write(config)
}

// write replaces the file, if it changes.
func (k *Connection) write(config *clientcmdapi.Config) error {
	body, err := clientcmd.Write(*config)
	if err != nil {
		return fmt.Errorf("write the operator's kubeconfig: %w", err)
	}
	if bytes.Equal(body, k.written) {
		return nil
	}
	temporary := k.Kubeconfig + ".new" // a reader never sees half of it
	if err := os.WriteFile(temporary, body, 0o600); err != nil {
		return fmt.Errorf("write the operator's kubeconfig: %w", err)
	}
	if err := os.Rename(temporary, k.Kubeconfig); err != nil {
		return fmt.Errorf("write the operator's kubeconfig: %w", err)
	}
	k.written = body
	return nil
}

// giveBack writes the changes of the program's authentication provider, such as a new refresh token, to the user's
// kubeconfig.
func (k *Connection) giveBack() error {
	body, err := os.ReadFile(k.Kubeconfig)
	if errors.Is(err, fs.ErrNotExist) || err == nil && bytes.Equal(body, k.written) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the operator's kubeconfig: %w", err)
	}
	former, err := clientcmd.Load(k.written)
	if err != nil {
		return fmt.Errorf("read the operator's kubeconfig: %w", printable.Error(err))
	}
	now, err := clientcmd.Load(body)
	if err != nil {
		return nil // the program writes it just now
	}
	k.written = body
	for name, user := range now.AuthInfos {
		if before := former.AuthInfos[name]; user.AuthProvider == nil || before == nil || before.AuthProvider == nil ||
			maps.Equal(before.AuthProvider.Config, user.AuthProvider.Config) {
			continue
		}
		access := clientcmd.NewDefaultClientConfigLoadingRules()
		access.ExplicitPath = k.cluster.KubeconfigPath
		if err := clientcmd.PersisterForUser(access, name).Persist(user.AuthProvider.Config); err != nil {
			return fmt.Errorf("write the renewed tokens of %s to the kubeconfig: %w", name, printable.Error(err))
		}
	}
	return nil
}

// only returns a kubeconfig with the context of the cluster and nothing else. A proxy of the environment becomes a part of
// the kubeconfig, so that the connection does not depend on the environment of the program.
func (c *Cluster) only(proxyOf func(*http.Request) (*url.URL, error), environ func(string) (string, bool)) (*clientcmdapi.Config, error) {
	config, err := clientConfig(c.KubeconfigPath, c.Context).RawConfig()
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig of %s: %w", c.Name, printable.Error(err))
	}
	if c.Context != "" {
		config.CurrentContext = c.Context
	}
	if err := clientcmdapi.MinifyConfig(&config); err != nil {
		return nil, fmt.Errorf("read the kubeconfig of %s: %w", c.Name, printable.Error(err))
	}
	only := clientcmdapi.NewConfig()
	only.CurrentContext, only.Contexts, only.Clusters, only.AuthInfos = config.CurrentContext, config.Contexts, config.Clusters, config.AuthInfos
	for _, cluster := range only.Clusters {
		if cluster.ProxyURL != "" {
			continue
		}
		server, err := url.Parse(cluster.Server)
		if err != nil {
			return nil, fmt.Errorf("read the kubeconfig of %s: %w", c.Name, printable.Error(err))
		}
		proxy, err := proxyOf(&http.Request{Method: http.MethodGet, URL: server})
		if err != nil {
			return nil, fmt.Errorf("find the proxy for the server of %s: %w", c.Name, printable.Error(err))
		}
		if proxy != nil {
			cluster.ProxyURL = proxy.String()
		}
	}
	for _, user := range only.AuthInfos {
		if user.Exec != nil {
			passProxies(user.Exec, environ)
		}
	}
	return only, nil
}

// proxyVariables name the proxies of programs in the environment. Some read them in lower case only.
var proxyVariables = []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"}

// passProxies gives a credential plugin the same proxies as kubectl does, since the plugin may need a proxy to log in.
func passProxies(plugin *clientcmdapi.ExecConfig, environ func(string) (string, bool)) {
	for _, name := range proxyVariables {
		for _, name := range []string{name, strings.ToLower(name)} {
			value, set := environ(name)
			if !set || slices.ContainsFunc(plugin.Env, func(v clientcmdapi.ExecEnvVar) bool { return v.Name == name }) {
				continue
			}
			plugin.Env = append(plugin.Env, clientcmdapi.ExecEnvVar{Name: name, Value: value})
		}
	}
}

// serverOf returns the URL of the only cluster's server.
func serverOf(config *clientcmdapi.Config) string {
	for _, cluster := range config.Clusters {
		return cluster.Server
	}
	return ""
}
