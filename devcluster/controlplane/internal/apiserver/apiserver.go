// Package apiserver runs the upstream kube-apiserver inside this process.
package apiserver

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/spf13/pflag"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"

	"github.com/kopf-dev/kopf/devcluster/controlplane/internal/pki"
)

// connectionGrace is how long open connections may continue when the server stops.
const connectionGrace = 200 * time.Millisecond

// Isolation is the configuration of an API server that connects to nothing: not to nodes, services, webhooks, converters of
// custom resources, and extension API servers. Its objects may name any host of the machine's networks.
const Isolation = `{"apiVersion": "apiserver.k8s.io/v1beta1", "kind": "EgressSelectorConfiguration", "egressSelections": [
{"name": "cluster", "connection": {"proxyProtocol": "HTTPConnect", "transport": {"uds": {"udsName": "/dev/null/isolated"}}}},
{"name": "controlplane", "connection": {"proxyProtocol": "HTTPConnect", "transport": {"uds": {"udsName": "/dev/null/isolated"}}}}]}
`

// Options configure the API server.
type Options struct {
	// Gates enable and disable features, in the notation of the flag of the kube-apiserver.
	Gates string
	// Isolation is the path of a file with [Isolation]. Then, webhooks are not called either. May be empty.
	Isolation string
	// Uncached serves all lists and watches from etcd. By default, the API server keeps in memory, as decoded trees, all objects and
	// their versions of the last 75 seconds.
	Uncached bool
}

// Run serves on the listener until the context is cancelled.
func Run(ctx context.Context, listener net.Listener, etcdEndpoint string, certs pki.Store, settings Options) error {
	o := options.NewServerRunOptions()
	all := pflag.NewFlagSet("kube-apiserver", pflag.ContinueOnError)
	named := o.Flags()
	for _, set := range named.FlagSets {
		all.AddFlagSet(set)
	}
	args := flags(etcdEndpoint, certs)
	if settings.Gates != "" {
		args = append(args, "--feature-gates="+settings.Gates)
	}
	if settings.Isolation != "" {
		args = append(args, "--egress-selector-config-file="+settings.Isolation, "--disable-admission-plugins=MutatingAdmissionWebhook,ValidatingAdmissionWebhook")
	}
	if settings.Uncached {
		args = append(args, "--watch-cache=false")
	}
	if err := all.Parse(args); err != nil {
		return fmt.Errorf("configure the API server: %w", err)
	}
	conns := track(listener)
	o.SecureServing.Listener = conns
	o.SecureServing.BindPort = listener.Addr().(*net.TCPAddr).Port
	if err := o.GenericServerRunOptions.ComponentGlobalsRegistry.Set(); err != nil {
		return fmt.Errorf("configure the API server: %w", err)
	}
	completed, err := o.Complete(ctx)
	if err != nil {
		return fmt.Errorf("configure the API server: %w", err)
	}
	if errs := completed.Validate(); len(errs) > 0 {
		return fmt.Errorf("configure the API server: %w", utilerrors.NewAggregate(errs))
	}
	// Answer the last requests before closing the connections.
	stopping := context.AfterFunc(ctx, func() { time.AfterFunc(connectionGrace, conns.closeAll) })
	defer stopping()
	if err := app.Run(ctx, completed); err != nil {
		return fmt.Errorf("run the API server: %w", err)
	}
	return nil
}

func flags(etcdEndpoint string, certs pki.Store) []string {
	return []string{
		"--etcd-servers=" + etcdEndpoint,
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1",
		"--endpoint-reconciler-type=none",
		"--service-cluster-ip-range=10.0.0.0/24",
		"--authorization-mode=RBAC",
		"--allow-privileged=true",

		"--client-ca-file=" + certs.Path(pki.CA),
		"--tls-cert-file=" + certs.Path(pki.Server),
		"--tls-private-key-file=" + certs.Path(pki.ServerKey),
		"--requestheader-client-ca-file=" + certs.Path(pki.FrontProxyCA),
		"--requestheader-allowed-names=" + pki.FrontProxyName,
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + certs.Path(pki.FrontProxy),
		"--proxy-client-key-file=" + certs.Path(pki.FrontProxyKey),
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + certs.Path(pki.ServiceAccountID),
		"--service-account-signing-key-file=" + certs.Path(pki.ServiceAccountID),

		// Otherwise an open watch delays the shutdown for a minute.
		"--shutdown-send-retry-after=true",

		// Disable features for production that take time at the start or when idle.
		"--enable-priority-and-fairness=false",
		"--profiling=false",
		"--etcd-count-metric-poll-period=0",
		"--etcd-db-metric-poll-interval=0",
	}
}
