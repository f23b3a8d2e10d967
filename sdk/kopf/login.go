package kopf

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	// Users of kubeconfig files may log in by OpenID Connect.
	_ "k8s.io/client-go/plugin/pkg/client/auth/oidc"

	"github.com/kopf-dev/kopf/sdk/internal/engine"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/printable"
)

// ConnectionInfo is a cluster with credentials, the result of an [OnLogin] handler. See [Logging in].
//
// [Logging in]: https://github.com/kopf-dev/kopf/blob/main/docs/activities.md#logging-in
type ConnectionInfo struct {
	// Config has the address of the cluster, and credentials of any type that client-go supports, such as tokens,
	// certificates, plugins, and files with tokens or certificates. It must not be nil, and must not be changed after the
	// handler returned.
	Config *rest.Config

	// DefaultNamespace is the namespace of Kubernetes events about cluster-scoped objects. Defaults
	// to "default".
	DefaultNamespace string

	// Priority decides between several credentials. The operator uses the highest priority, and among equal priorities the
	// handler that was registered first. It uses the next credentials when the current ones are rejected or expire.
	// Defaults to 0.
	Priority int

	// Expiration is the time when the operator stops using the credentials. Defaults to no expiration: the operator uses
	// them until the API server responds with 401.
	Expiration time.Time
}

// The priorities of the built-in login handlers, equal to the priorities in Kopf for Python.
const (
	kubeconfigPriority     = 10
	serviceAccountPriority = 20
)

// LoginWithServiceAccount is a login handler that returns the service account of the pod. The
// token file is read again when it changes. Outside of a cluster, it returns nil.
func LoginWithServiceAccount(context.Context, *Activity) (*ConnectionInfo, error) {
	config, err := rest.InClusterConfig()
	switch {
	case errors.Is(err, rest.ErrNotInCluster):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read the service account of the pod: %w", err)
	}
	return &ConnectionInfo{Config: config, DefaultNamespace: podNamespace(), Priority: serviceAccountPriority}, nil
}

// LoginWithKubeconfig is a login handler that returns the current context of the files in $KUBECONFIG or, without the
// variable, of ~/.kube/config. It supports credential plugins and OpenID Connect. It skips files in $KUBECONFIG that do
// not exist, and returns nil if no file exists. Empty files are an error.
func LoginWithKubeconfig(context.Context, *Activity) (*ConnectionInfo, error) {
	return readKubeconfig("", "")
}

func readKubeconfig(path, contextName string) (*ConnectionInfo, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = path
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: contextName})
	raw, err := loader.RawConfig()
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig: %w", printable.Error(err))
	}
	named := contextName
	if named == "" {
		named = raw.CurrentContext
	}
	switch {
	case len(raw.Contexts) == 0 && len(raw.Clusters) == 0 && len(raw.AuthInfos) == 0 && named == "":
		for _, file := range rules.GetLoadingPrecedence() {
			if _, err := os.Stat(file); err == nil {
				return nil, fmt.Errorf("read kubeconfig: %s is empty; name another file in KUBECONFIG, or remove it", file)
			}
		}
		return nil, nil
	case named == "":
		return nil, errors.New("read kubeconfig: no current context; choose one with \"kubectl config use-context\", or use --context")
	case raw.Contexts[named] == nil:
		return nil, fmt.Errorf("read kubeconfig: no context %q; see \"kubectl config get-contexts\"", named)
	case raw.Contexts[named].AuthInfo != "" && raw.AuthInfos[raw.Contexts[named].AuthInfo] == nil:
		return nil, fmt.Errorf("read kubeconfig: no user %q, which the context %q refers to", raw.Contexts[named].AuthInfo, named)
	}
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig: %w", printable.Error(err))
	}
	useAccessToken(config)
	return &ConnectionInfo{Config: config, DefaultNamespace: raw.Contexts[named].Namespace, Priority: kubeconfigPriority}, nil
}

// useAccessToken uses the stored token of an authentication provider that needs a vendor's program. Other tools may renew
// the token in the file.
func useAccessToken(config *rest.Config) {
	provider := config.AuthProvider
	if provider == nil || provider.Name == "oidc" || provider.Config["access-token"] == "" {
		return
	}
	config.BearerToken, config.AuthProvider, config.AuthConfigPersister = provider.Config["access-token"], nil, nil
}

// podNamespace returns the namespace of the pod, or an empty string if it is unknown.
func podNamespace() string {
	name, err := os.ReadFile("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(name))
}

// loginResult converts the result of a login handler for the engine.
func loginResult(fn func(context.Context, *Activity) (*ConnectionInfo, error)) func(context.Context, *Activity) (any, error) {
	return func(ctx context.Context, a *Activity) (any, error) {
		info, err := fn(ctx, a)
		switch {
		case err != nil:
			return nil, err
		case info == nil:
			return nil, nil
		case info.Config == nil:
			return nil, Permanentf("the login handler returned a ConnectionInfo without Config")
		}
		return &engine.Login{
			Config: info.Config, Namespace: info.DefaultNamespace, Priority: info.Priority, Expires: info.Expiration,
		}, nil
	}
}

// noCluster returns the error of an operator without any source of credentials.
func noCluster() error {
	absent := os.Getenv(clientcmd.RecommendedConfigPathEnvVar)
	if absent == "" {
		return errors.New("found neither a service account of a pod nor a kubeconfig; set KUBECONFIG, or use --kubeconfig")
	}
	return fmt.Errorf("found no service account of a pod, and KUBECONFIG names only files that do not exist: %s; "+
		"correct KUBECONFIG, or use --kubeconfig", absent)
}

// logins returns the login handlers. If the command line names a cluster, they are replaced by a login to this cluster.
// Without login handlers, it returns the default login handler.
func (o *Operator) logins() []*handlers.Handler {
	id, login := "login_with_kubeconfig", func(context.Context, *Activity) (*ConnectionInfo, error) {
		return readKubeconfig(o.kubeconfig, o.context)
	}
	if o.kubeconfig == "" && o.context == "" {
		if registered := o.Registry.registry.Activities(handlers.Login); len(registered) > 0 {
			return registered
		}
		id, login = "login", defaultLogin
	}
	succeeded := false // once true, an error of reading the files again is temporary
	fn := func(ctx context.Context, a *Activity) (*ConnectionInfo, error) {
		info, err := login(ctx, a)
		if err != nil && !succeeded {
			return nil, PermanentError{err}
		}
		succeeded = succeeded || err == nil
		return info, err
	}
	const again = time.Second
	return []*handlers.Handler{{
		ID: id, Family: handlers.Login, Invoke: callActivity(loginResult(fn)).engine(),
		ErrorsSet: true, Errors: handlers.ErrorsTemporary, Backoff: new(again),
	}}
}

// warnOfUncalledLogins names the login handlers that a cluster of the command line replaces.
func (o *Operator) warnOfUncalledLogins(logger *slog.Logger) {
	if o.kubeconfig == "" && o.context == "" {
		return
	}
	var ids []string
	for _, h := range o.Registry.registry.Activities(handlers.Login) {
		ids = append(ids, h.ID)
	}
	if len(ids) > 0 {
		logger.Warn("Login handlers are not called, because --kubeconfig or --context chooses the cluster, as kopf run and kopf dev do: "+
			strings.Join(ids, ", ")+"; to call them, run the executable of kopf build without these flags", observe.EventKey, observe.LogLoginSkipped)
	}
}

// defaultLogin uses the service account or the kubeconfig. It does not combine both, because they may belong to different
// clusters.
func defaultLogin(ctx context.Context, a *Activity) (*ConnectionInfo, error) {
	info, err := LoginWithServiceAccount(ctx, a)
	if info == nil && err == nil {
		info, err = LoginWithKubeconfig(ctx, a)
	}
	if info == nil && err == nil {
		err = PermanentError{noCluster()}
	}
	return info, err
}
