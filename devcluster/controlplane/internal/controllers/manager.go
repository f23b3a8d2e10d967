// Package controllers runs the controllers that objects of a cluster need to behave as usual.
package controllers

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app/options"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"

	"github.com/kopf-dev/kopf/devcluster/controlplane/internal/pki"
)

// unwanted controllers have nothing to control here, except for the garbage
// collector, which runs by itself; see RunGarbageCollector.
var unwanted = []string{
	names.GarbageCollectorController,
	names.NodeIpamController,
	names.PersistentVolumeAttachDetachController,
	names.PersistentVolumeExpanderController,
}

// unwantedWithNode would take a node that does not report for dead.
var unwantedWithNode = []string{
	names.NodeLifecycleController,
	names.TaintEvictionController,
}

// RunManager runs the upstream kube-controller-manager until the context ends.
func RunManager(ctx context.Context, kubeconfig string, certs pki.Store, simulatedNode bool) error {
	o, err := options.NewKubeControllerManagerOptions()
	if err != nil {
		return fmt.Errorf("configuring the controller manager: %w", err)
	}
	known, disabled, aliases := app.KnownControllers(), app.ControllersDisabledByDefault(), app.ControllerAliases()
	all := pflag.NewFlagSet("kube-controller-manager", pflag.ContinueOnError)
	named := o.Flags(known, disabled, aliases)
	for _, set := range named.FlagSets {
		all.AddFlagSet(set)
	}
	o.ParsedFlags = &named
	if err := all.Parse(managerFlags(kubeconfig, certs, selection(known, simulatedNode))); err != nil {
		return fmt.Errorf("configuring the controller manager: %w", err)
	}
	c, err := o.Config(ctx, known, disabled, aliases)
	if err != nil {
		return fmt.Errorf("configuring the controller manager: %w", err)
	}
	if err := app.Run(ctx, c.Complete()); err != nil {
		return fmt.Errorf("running the controller manager: %w", err)
	}
	return nil
}

func managerFlags(kubeconfig string, certs pki.Store, controllers string) []string {
	return []string{
		"--kubeconfig=" + kubeconfig,
		"--controllers=" + controllers,
		"--leader-elect=false",
		"--secure-port=0",
		"--profiling=false",
		"--service-account-private-key-file=" + certs.Path(pki.ServiceAccountID),
		"--root-ca-file=" + certs.Path(pki.CA),
		"--cluster-signing-cert-file=" + certs.Path(pki.CA),
		"--cluster-signing-key-file=" + certs.Path(pki.CAKey),
		"--kube-api-qps=1000",
		"--kube-api-burst=2000",
		// Claims of the first seconds are bound at the next look: that is 15 seconds later by default.
		"--pvclaimbinder-sync-period=1s",
	}
}

// selection is the value of --controllers. To exclude one that this version of
// Kubernetes does not know would be an error.
func selection(known []string, simulatedNode bool) string {
	without := unwanted
	if simulatedNode {
		without = slices.Concat(unwanted, unwantedWithNode)
	}
	s := []string{"*"}
	for _, name := range without {
		if slices.Contains(known, name) {
			s = append(s, "-"+name)
		}
	}
	return strings.Join(s, ",")
}
