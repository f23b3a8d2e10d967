package controllers

import (
	"context"

	"k8s.io/client-go/kubernetes"
	"k8s.io/component-base/featuregate"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller/endpoint"
	"k8s.io/kubernetes/pkg/controller/endpointslice"
	"k8s.io/kubernetes/pkg/controller/endpointslicemirroring"
	"k8s.io/kubernetes/pkg/controller/servicecidrs"
	"k8s.io/kubernetes/pkg/features"
)

// serviceControllers are the controllers of services and their endpoints.
var serviceControllers = []controller{
	{
		name: names.EndpointsController, agent: "endpoint-controller",
		build: func(ctx context.Context, e *environment, client kubernetes.Interface) (run, error) {
			core, s := e.informers.Core().V1(), e.settings.EndpointController
			c := endpoint.NewEndpointController(ctx, core.Pods(), core.Services(), core.Endpoints(), client, s.EndpointUpdatesBatchPeriod.Duration)
			return workers(c.Run, s.ConcurrentEndpointSyncs), nil
		},
	},
	{
		name: names.EndpointSliceController, agent: "endpointslice-controller",
		build: func(ctx context.Context, e *environment, client kubernetes.Interface) (run, error) {
			core, s := e.informers.Core().V1(), e.settings.EndpointSliceController
			c := endpointslice.NewController(ctx, core.Pods(), core.Services(), core.Nodes(), e.informers.Discovery().V1().EndpointSlices(),
				s.MaxEndpointsPerSlice, client, s.EndpointUpdatesBatchPeriod.Duration)
			return workers(c.Run, s.ConcurrentServiceEndpointSyncs), nil
		},
	},
	{
		name: names.EndpointSliceMirroringController, agent: "endpointslicemirroring-controller",
		build: func(ctx context.Context, e *environment, client kubernetes.Interface) (run, error) {
			core, s := e.informers.Core().V1(), e.settings.EndpointSliceMirroringController
			c := endpointslicemirroring.NewController(ctx, core.Endpoints(), e.informers.Discovery().V1().EndpointSlices(), core.Services(),
				s.MirroringMaxEndpointsPerSubset, client, s.MirroringEndpointUpdatesBatchPeriod.Duration)
			return workers(c.Run, s.MirroringConcurrentServiceEndpointSyncs), nil
		},
	},
	{
		name: names.ServiceCIDRController, agent: "service-cidrs-controller",
		gates: []featuregate.Feature{features.MultiCIDRServiceAllocator},
		build: func(ctx context.Context, e *environment, client kubernetes.Interface) (run, error) {
			networking := e.informers.Networking().V1()
			return workers(servicecidrs.NewController(ctx, networking.ServiceCIDRs(), networking.IPAddresses(), client).Run, 5), nil
		},
	},
}
