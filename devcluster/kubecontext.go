package devcluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kopf-dev/kopf/devcluster/internal/apiserver"
	"github.com/kopf-dev/kopf/devcluster/internal/fault"
	"github.com/kopf-dev/kopf/sdk/printable"
)

// connectTimeout bounds the first request to an existing cluster.
const connectTimeout = 5 * time.Second

// openContext connects to an existing cluster of a kubeconfig, which it only reads.
func openContext(ctx context.Context, o Options, reason string) (*Cluster, error) {
	if err := checkKubeconfigFiles(o.Kubeconfig); err != nil {
		return nil, err
	}
	config := clientConfig(o.Kubeconfig, o.Context)
	raw, err := config.RawConfig()
	if err != nil {
		return nil, kubeconfigError(o.Kubeconfig, err)
	}
	name, server, err := target(raw, o)
	if err != nil {
		return nil, err
	}
	isDevelopment := IsDevelopment(name, server)
	server = printable.WithoutPasswords(server) // from here on, it is only shown
	if !o.Yes && !isDevelopment {
		return nil, &fault.Error{
			Kind:    ErrNotDevelopment,
			Message: fmt.Sprintf("the context %q at %s does not look like a development cluster", name, server),
			Next:    "confirm with --yes, or choose another with --context or --cluster=embedded",
		}
	}
	cfg, err := config.ClientConfig()
	if err != nil {
		return nil, kubeconfigError(o.Kubeconfig, err)
	}
	namespace, _, err := config.Namespace()
	if err != nil {
		return nil, kubeconfigError(o.Kubeconfig, err)
	}
	o.report(Progress{Phase: PhaseConnect, Message: fmt.Sprintf("connecting to %s at %s", name, server)})
	v, err := apiserver.Version(ctx, cfg, connectTimeout)
	if err != nil {
		return nil, &fault.Error{
			Kind:    ErrUnreachable,
			Message: fmt.Sprintf("the context %q at %s does not answer", name, server),
			Cause:   printable.Error(err),
			Next:    "start the cluster, or choose another with --context or --cluster=embedded",
		}
	}
	o.report(Progress{Phase: PhaseReady, Message: fmt.Sprintf("%s runs Kubernetes %s", name, v)})
	return &Cluster{
		Provider: Context, Name: name, Reason: reason, Version: v, Server: server,
		KubeconfigPath: o.Kubeconfig, Context: name, Namespace: namespace,
	}, nil
}

// checkKubeconfigFiles rejects devices and pipes, before they are read as a whole: a device may
// be endless, and a pipe can be read only once, but the operator reads the file again. It
// accepts /dev/null, which is a usual name for an empty file.
func checkKubeconfigFiles(explicit string) error {
	paths := []string{explicit}
	if explicit == "" {
		paths = clientcmd.NewDefaultClientConfigLoadingRules().GetLoadingPrecedence()
	}
	for _, path := range paths {
		info, err := os.Stat(path)
		if err == nil && !info.Mode().IsRegular() && !info.IsDir() && path != os.DevNull {
			return kubeconfigError(path, errors.New("it is a device or a pipe, not a file"))
		}
	}
	return nil
}

// target returns the name of the selected context and its server.
func target(raw clientcmdapi.Config, o Options) (name, server string, err error) {
	name = o.Context
	if name == "" {
		name = raw.CurrentContext
	}
	where := o.Kubeconfig
	if where == "" {
		where = strings.Join(clientcmd.NewDefaultClientConfigLoadingRules().GetLoadingPrecedence(), ", ")
	}
	if len(raw.Contexts) == 0 {
		return "", "", &fault.Error{
			Kind: ErrKubeconfig, Message: "no contexts in " + where,
			Next: "name another file with --kubeconfig, or use --cluster=embedded",
		}
	}
	if name == "" {
		return "", "", &fault.Error{
			Kind: ErrKubeconfig, Message: "no current context in " + where,
			Next: "name one with --context: " + names(raw.Contexts),
		}
	}
	c := raw.Contexts[name]
	if c == nil {
		return "", "", &fault.Error{
			Kind: ErrNotFound, Message: fmt.Sprintf("no context %q in %s", name, where),
			Next: "name one of: " + names(raw.Contexts),
		}
	}
	cluster := raw.Clusters[c.Cluster]
	if cluster == nil || cluster.Server == "" {
		return "", "", &fault.Error{
			Kind: ErrKubeconfig, Message: fmt.Sprintf("the context %q names the cluster %q, which has no server in %s", name, c.Cluster, where),
			Next: "fix the file, or name another context with --context",
		}
	}
	return name, cluster.Server, nil
}

func kubeconfigError(path string, err error) error {
	e := &fault.Error{
		Kind: ErrKubeconfig, Message: "cannot use the kubeconfig", Cause: printable.Error(err),
		Next: "fix it, or name another with --kubeconfig",
	}
	if path != "" {
		e.Message = fmt.Sprintf("cannot use the kubeconfig %s", path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		e.Cause = fs.ErrNotExist
		e.Next = "name another with --kubeconfig, or use --cluster=embedded"
	}
	return e
}

// names returns the sorted names of the contexts for a message.
func names(contexts map[string]*clientcmdapi.Context) string {
	return strings.Join(slices.Sorted(maps.Keys(contexts)), ", ")
}
