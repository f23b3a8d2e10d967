// Package controllers runs the controllers of the control plane.
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

// unwanted are the controllers that have nothing to do here, and the garbage collector, which
// runs outside of the manager; see [RunGarbageCollector].
var unwanted = []string{
	names.GarbageCollectorController,
	names.NodeIpamController,
	names.PersistentVolumeAttachDetachController,
	names.PersistentVolumeExpanderController,
}

// unwantedWithNode are the controllers that would evict pods from the simulated node, which
// sends no heartbeats.
var unwantedWithNode = []string{
	names.NodeLifecycleController,
	names.TaintEvictionController,
}

// RunManager runs the upstream kube-controller-manager until the context is cancelled.
func RunManager(ctx context.Context, kubeconfig string, certs pki.Store, simulatedNode bool) error {
	o, err := options.NewKubeControllerManagerOptions()
	if err != nil {
		return fmt.Errorf("configure the controller manager: %w", err)
	}
	known, disabled, aliases := app.KnownControllers(), app.ControllersDisabledByDefault(), app.ControllerAliases()
	all := pflag.NewFlagSet("kube-controller-manager", pflag.ContinueOnError)
	named := o.Flags(known, disabled, aliases)
	for _, set := range named.FlagSets {
		all.AddFlagSet(set)
	}
	o.ParsedFlags = &named
	if err := all.Parse(managerFlags(kubeconfig, certs, selection(known, simulatedNode))); err != nil {
		return fmt.Errorf("configure the controller manager: %w", err)
	}
	c, err := o.Config(ctx, known, disabled, aliases)
	if err != nil {
		return fmt.Errorf("configure the controller manager: %w", err)
	}
	if err := app.Run(ctx, c.Complete()); err != nil {
		return fmt.Errorf("run the controller manager: %w", err)
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
		// Claims created in the first seconds are bound at the next sync, by default 15 s later.
		"--pvclaimbinder-sync-period=1s",
	}
}

// selection returns the value of --controllers. It excludes only known controllers: excluding
// an unknown one is an error.
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
