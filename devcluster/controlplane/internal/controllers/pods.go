package controllers

import (
	"context"

	"k8s.io/client-go/kubernetes"
	"k8s.io/component-base/featuregate"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller/nodelifecycle"
	"k8s.io/kubernetes/pkg/controller/tainteviction"
	"k8s.io/kubernetes/pkg/controller/ttl"
	"k8s.io/kubernetes/pkg/features"
)

// podControllers are the controllers of nodes and of their pods.
var podControllers = []controller{
	{
		name: names.PodGarbageCollectorController, agent: "pod-garbage-collector",
		build: func(_ context.Context, e *environment, client kubernetes.Interface) (run, error) {
			core := e.informers.Core().V1()
			return newPodCollector(client, core.Pods(), core.Nodes(), int(e.settings.PodGCController.TerminatedPodGCThreshold)).run, nil
		},
	},
	{
		name: names.NodeLifecycleController, agent: "node-controller", withoutNode: true,
		build: func(ctx context.Context, e *environment, client kubernetes.Interface) (run, error) {
			core, s := e.informers.Core().V1(), e.settings.NodeLifecycleController
			c, err := nodelifecycle.NewNodeLifecycleController(ctx, e.informers.Coordination().V1().Leases(), core.Pods(), core.Nodes(),
				e.informers.Apps().V1().DaemonSets(), client, s.NodeMonitorPeriod.Duration, s.NodeStartupGracePeriod.Duration,
				s.NodeMonitorGracePeriod.Duration, s.NodeEvictionRate, s.SecondaryNodeEvictionRate, s.LargeClusterSizeThreshold, s.UnhealthyZoneThreshold)
			return c.Run, err
		},
	},
	{
		name: names.TaintEvictionController, agent: "node-controller", withoutNode: true,
		gates: []featuregate.Feature{features.SeparateTaintEvictionController},
		build: func(ctx context.Context, e *environment, client kubernetes.Interface) (run, error) {
			core := e.informers.Core().V1()
			c, err := tainteviction.New(ctx, client, core.Pods(), core.Nodes(), names.TaintEvictionController)
			return c.Run, err
		},
	},
	{
		name: names.TTLController, agent: "ttl-controller",
		build: func(ctx context.Context, e *environment, client kubernetes.Interface) (run, error) {
			return workers(ttl.NewTTLController(ctx, e.informers.Core().V1().Nodes(), client).Run, 5), nil
		},
	},
}
