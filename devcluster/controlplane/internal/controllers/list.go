package controllers

import (
	"context"
	"slices"
	"sync"

	"k8s.io/client-go/kubernetes"
	"k8s.io/component-base/featuregate"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
)

// run runs a controller until the context is cancelled.
type run func(context.Context)

// controller is one of upstream's controllers.
type controller struct {
	name  string
	agent string // the name of its client, by which the server knows it
	// gates are the features without which it does not run.
	gates []featuregate.Feature
	// withoutNode is set if it must not run with the simulated node: it would evict the pods of a node that sends no
	// heartbeats.
	withoutNode bool
	// build creates the controller and registers its watches. It returns nil if the controller is not to run.
	build func(context.Context, *environment, kubernetes.Interface) (run, error)
}

func (c controller) enabled(gate func(featuregate.Feature) bool) bool {
	return !slices.ContainsFunc(c.gates, func(f featuregate.Feature) bool { return !gate(f) })
}

// controllers lists what runs here.
func controllers() []controller {
	return slices.Concat(accountControllers, workloadControllers, podControllers, serviceControllers, storageControllers,
		certificateControllers, policyControllers, resourceControllers)
}

// unwanted are the controllers of the kube-controller-manager that do not run here, and why.
var unwanted = map[string]string{
	names.GarbageCollectorController:             "runs beside the others: see GarbageCollector",
	names.NodeIpamController:                     "there is no network of pods",
	names.PersistentVolumeAttachDetachController: "nothing is mounted",
	names.PersistentVolumeExpanderController:     "nothing is mounted",
	names.SELinuxWarningController:               "upstream disables it by default; nothing is mounted",
	names.BootstrapSignerController:              "upstream disables it by default; no node joins",
	names.TokenCleanerController:                 "upstream disables it by default; no node joins",
}

// workers runs a controller with a number of workers.
func workers[N int | int32](start func(context.Context, int), n N) run {
	return func(ctx context.Context) { start(ctx, int(n)) }
}

// together runs the parts of one controller.
func together(parts ...run) run {
	return func(ctx context.Context) {
		var wg sync.WaitGroup
		for _, part := range parts {
			wg.Go(func() { part(ctx) })
		}
		wg.Wait()
	}
}
