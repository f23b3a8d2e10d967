// Package controllers runs the controllers of the control plane.
package controllers

import (
	"context"
	"fmt"

	"github.com/spf13/pflag"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app/config"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app/options"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"

	"github.com/kopf-dev/kopf/devcluster/controlplane/internal/pki"
)

// Selection is which of the controllers run.
type Selection int

const (
	// All runs all controllers.
	All Selection = iota
	// WithSimulatedNode runs all controllers but those that need a real node.
	WithSimulatedNode
	// NamespacesOnly runs the controller of namespaces. Others would change a copy of another cluster, to which nothing happens
	// beside an operator's requests.
	NamespacesOnly
)

func (s Selection) has(c controller) bool {
	switch s {
	case WithSimulatedNode:
		return !c.withoutNode
	case NamespacesOnly:
		return c.name == names.NamespaceController
	default:
		return true
	}
}

// RunManager runs upstream's controllers until the context is cancelled, with the settings of the
// kube-controller-manager. It does not run that program's own package, which would compile the kubelet, the scheduler
// and the drivers of volumes: [controllers] lists what runs here.
func RunManager(ctx context.Context, kubeconfig string, certs pki.Store, selected Selection, garbage *GarbageCollector) error {
	settings, err := managerSettings(ctx, kubeconfig, certs)
	if err != nil {
		return fmt.Errorf("configure the controllers: %w", err)
	}
	e, err := newEnvironment(ctx, settings, garbage)
	if err != nil {
		return fmt.Errorf("configure the controllers: %w", err)
	}
	runs, err := e.build(ctx, selected)
	if err != nil {
		return err
	}
	e.informers.Start(ctx.Done())
	e.metadataInformers.Start(ctx.Done())
	close(e.informersStarted)

	runAll(ctx, runs)
	e.informers.Shutdown()
	e.metadataInformers.Shutdown()
	return nil
}

// build prepares the controllers that run here. It registers their watches, so it must be called before the informers
// start.
func (e *environment) build(ctx context.Context, selected Selection) ([]namedRun, error) {
	var runs []namedRun
	for _, c := range controllers() {
		if !selected.has(c) || !c.enabled(utilfeature.DefaultFeatureGate.Enabled) {
			continue
		}
		client, err := e.clients.Client(c.agent)
		if err != nil {
			return nil, fmt.Errorf("configure the %s: %w", c.name, err)
		}
		ctx := klog.NewContext(ctx, klog.LoggerWithName(klog.FromContext(ctx), c.name))
		run, err := c.build(ctx, e, client)
		if err != nil {
			return nil, fmt.Errorf("start the %s: %w", c.name, err)
		}
		if run != nil {
			runs = append(runs, namedRun{c.name, run})
		}
	}
	return runs, nil
}

// managerSettings returns the settings of a kube-controller-manager with our flags. Some defaults exist only as
// defaults of flags.
func managerSettings(ctx context.Context, kubeconfig string, certs pki.Store) (*config.Config, error) {
	o, err := options.NewKubeControllerManagerOptions()
	if err != nil {
		return nil, err
	}
	all := pflag.NewFlagSet("kube-controller-manager", pflag.ContinueOnError)
	named := o.Flags(nil, nil, nil)
	for _, set := range named.FlagSets {
		all.AddFlagSet(set)
	}
	if err := all.Parse(managerFlags(kubeconfig, certs)); err != nil {
		return nil, err
	}
	return o.Config(ctx, nil, nil, nil)
}

func managerFlags(kubeconfig string, certs pki.Store) []string {
	return []string{
		"--kubeconfig=" + kubeconfig,
		"--leader-elect=false",
		"--secure-port=0",
		"--profiling=false",
		"--service-account-private-key-file=" + certs.Path(pki.ServiceAccountID),
		"--root-ca-file=" + certs.Path(pki.CA),
		"--cluster-signing-cert-file=" + certs.Path(pki.CA),
		"--cluster-signing-key-file=" + certs.Path(pki.CAKey),
		"--kube-api-qps=1000",
		"--kube-api-burst=2000",
		// Claims created in the first seconds are bound at the next sync, by default 15 s later.
		"--pvclaimbinder-sync-period=1s",
	}
}
