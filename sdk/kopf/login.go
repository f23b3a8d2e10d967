package kopf

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	// Users of kubeconfig files may log in by OpenID Connect.
	_ "k8s.io/client-go/plugin/pkg/client/auth/oidc"

	"github.com/kopf-dev/kopf/sdk/internal/engine"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
)

// ConnectionInfo is a cluster and credentials for it, as a login handler brings them. See the
// chapter "Authentication" of Kopf's documentation.
type ConnectionInfo struct {
	// Config has the address, and what to be let in with: whatever client-go knows, such as
	// tokens, certificates, plugins, and files with any of these. It must not be changed later.
	Config *rest.Config

	// DefaultNamespace is for what has none, such as events about cluster-scoped objects;
	// "default" if it is empty.
	DefaultNamespace string

	// Priority decides if there are several: the highest one is used, the first registered
	// handler's of equal ones. The others are for when it is refused or has expired. 0.
	Priority int

	// Expiration is when to stop using it. If it is zero, that is when the cluster answers 401.
	Expiration time.Time
}

// The priorities are those of other operators of this framework.
const (
	kubeconfigPriority     = 10
	serviceAccountPriority = 20
)

// LoginWithServiceAccount is a login handler: it takes the service account of the pod,
// whose token it reads again when it changes. It has none outside of a cluster.
func LoginWithServiceAccount(context.Context, *Activity) (*ConnectionInfo, error) {
	config, err := rest.InClusterConfig()
	switch {
	case errors.Is(err, rest.ErrNotInCluster):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("the service account of this pod: %w", err)
	}
	return &ConnectionInfo{Config: config, DefaultNamespace: podNamespace(), Priority: serviceAccountPriority}, nil
}

// LoginWithKubeconfig is a login handler: it reads the files of $KUBECONFIG, or
// ~/.kube/config, and takes the current context, with plugins for credentials and OpenID
// Connect where the file asks for them. It has none if there are no such files.
func LoginWithKubeconfig(context.Context, *Activity) (*ConnectionInfo, error) {
	return readKubeconfig("", "")
}

func readKubeconfig(path, contextName string) (*ConnectionInfo, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = path
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: contextName})
	raw, err := loader.RawConfig()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	named := contextName
	if named == "" {
		named = raw.CurrentContext
	}
	switch {
	case len(raw.Contexts) == 0 && len(raw.Clusters) == 0 && len(raw.AuthInfos) == 0 && named == "":
		if path != "" {
			return nil, fmt.Errorf("kubeconfig: %s is empty", path)
		}
		return nil, nil
	case named == "":
		return nil, errors.New("kubeconfig: there is no current context: choose one with \"kubectl config use-context\", or use --context")
	case raw.Contexts[named] == nil:
		return nil, fmt.Errorf("kubeconfig: there is no context %q", named)
	case raw.Contexts[named].AuthInfo != "" && raw.AuthInfos[raw.Contexts[named].AuthInfo] == nil:
		return nil, fmt.Errorf("kubeconfig: there is no user %q, which the context %q names", raw.Contexts[named].AuthInfo, named)
	}
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	useAccessToken(config)
	return &ConnectionInfo{Config: config, DefaultNamespace: raw.Contexts[named].Namespace, Priority: kubeconfigPriority}, nil
}

// useAccessToken takes the last token of a provider that needs a program of its vendor:
// other tools may renew it in the file.
func useAccessToken(config *rest.Config) {
	provider := config.AuthProvider
	if provider == nil || provider.Name == "oidc" || provider.Config["access-token"] == "" {
		return
	}
	config.BearerToken, config.AuthProvider, config.AuthConfigPersister = provider.Config["access-token"], nil, nil
}

// podNamespace is that of the pod; empty if it does not tell.
func podNamespace() string {
	name, err := os.ReadFile("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(name))
}

// loginResult puts what a login handler returns into the engine's terms.
func loginResult(fn func(context.Context, *Activity) (*ConnectionInfo, error)) func(context.Context, *Activity) (any, error) {
	return func(ctx context.Context, a *Activity) (any, error) {
		info, err := fn(ctx, a)
		switch {
		case err != nil:
			return nil, err
		case info == nil:
			return nil, nil
		case info.Config == nil:
			return nil, Permanentf("the ConnectionInfo has no Config")
		}
		return &engine.Login{
			Config: info.Config, Namespace: info.DefaultNamespace, Priority: info.Priority, Expires: info.Expiration,
		}, nil
	}
}

// errNowhere is the error of an operator that nobody told of a cluster.
var errNowhere = errors.New("there is neither a service account of a pod nor a kubeconfig: set KUBECONFIG, or use --kubeconfig")

// logins are the login handlers: those of the registry unless the command line names a
// cluster, and one of ours if there are none.
func (o *Operator) logins() []*handlers.Handler {
	id, login := "login_with_kubeconfig", func(context.Context, *Activity) (*ConnectionInfo, error) {
		return readKubeconfig(o.kubeconfig, o.context)
	}
	if o.kubeconfig == "" && o.context == "" {
		if registered := o.Registry.registry.Activities(handlers.Login); len(registered) > 0 {
			return registered
		}
		id, login = "login", loginAnyhow
	}
	before := false // it has succeeded: a file that is unreadable now will be readable again
	fn := func(ctx context.Context, a *Activity) (*ConnectionInfo, error) {
		info, err := login(ctx, a)
		if err != nil && !before {
			return nil, PermanentError{err}
		}
		before = before || err == nil
		return info, err
	}
	const again = time.Second
	return []*handlers.Handler{{
		ID: id, Family: handlers.Login, Invoke: callActivity(loginResult(fn)).engine(),
		ErrorsSet: true, Errors: handlers.ErrorsTemporary, Backoff: new(again),
	}}
}

// loginAnyhow does not mix the sources: they may be those of different clusters.
func loginAnyhow(ctx context.Context, a *Activity) (*ConnectionInfo, error) {
	info, err := LoginWithServiceAccount(ctx, a)
	if info == nil && err == nil {
		info, err = LoginWithKubeconfig(ctx, a)
	}
	if info == nil && err == nil {
		err = PermanentError{errNowhere}
	}
	return info, err
}
