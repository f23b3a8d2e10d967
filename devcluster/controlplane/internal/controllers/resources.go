package controllers

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	genericfeatures "k8s.io/apiserver/pkg/features"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	clientfeatures "k8s.io/client-go/features"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/component-base/featuregate"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller/devicetainteviction"
	"k8s.io/kubernetes/pkg/controller/resourceclaim"
	"k8s.io/kubernetes/pkg/controller/resourcepoolstatusrequest"
	"k8s.io/kubernetes/pkg/controller/storageversiongc"
	"k8s.io/kubernetes/pkg/controller/storageversionmigrator"
	"k8s.io/kubernetes/pkg/features"
)

// resourceControllers are the controllers of devices that pods claim, and of storage versions.
var resourceControllers = []controller{
	{
		name: names.ResourceClaimController, agent: "resource-claim-controller",
		gates: []featuregate.Feature{features.DynamicResourceAllocation},
		build: func(ctx context.Context, e *environment, client kubernetes.Interface) (run, error) {
			resource := e.informers.Resource().V1()
			c, err := resourceclaim.NewController(klog.FromContext(ctx), client, e.informers.Core().V1().Pods(),
				e.informers.Scheduling().V1beta1().PodGroups(), resource.ResourceClaims(), resource.ResourceClaimTemplates())
			return workers(c.Run, e.settings.ResourceClaimController.ConcurrentSyncs), err
		},
	},
	{
		name: names.ResourcePoolStatusRequestController, agent: "resourcepoolstatusrequest-controller",
		gates: []featuregate.Feature{features.DRAResourcePoolStatus},
		build: func(ctx context.Context, e *environment, client kubernetes.Interface) (run, error) {
			resource := e.informers.Resource().V1()
			c, err := resourcepoolstatusrequest.NewController(ctx, client, e.informers.Resource().V1alpha3().ResourcePoolStatusRequests(),
				resource.ResourceSlices(), resource.ResourceClaims(), resource.DeviceTaintRules())
			return workers(c.Run, 1), err
		},
	},
	{
		name: names.DeviceTaintEvictionController, agent: names.DeviceTaintEvictionController,
		gates: []featuregate.Feature{features.DynamicResourceAllocation, features.DRADeviceTaints},
		build: func(_ context.Context, e *environment, client kubernetes.Interface) (run, error) {
			resource := e.informers.Resource().V1()
			c := devicetainteviction.New(client, e.informers.Core().V1().Pods(), resource.ResourceClaims(), resource.ResourceSlices(),
				resource.DeviceTaintRules(), resource.DeviceClasses(), names.DeviceTaintEvictionController)
			return func(ctx context.Context) {
				if err := c.Run(ctx, int(e.settings.DeviceTaintEvictionController.ConcurrentSyncs)); err != nil {
					klog.FromContext(ctx).Error(err, "Cannot evict pods from tainted devices; not trying again")
				}
			}, nil
		},
	},
	{
		name: names.StorageVersionGarbageCollectorController, agent: "storage-version-garbage-collector",
		gates: []featuregate.Feature{genericfeatures.APIServerIdentity, genericfeatures.StorageVersionAPI},
		build: func(ctx context.Context, e *environment, client kubernetes.Interface) (run, error) {
			c := storageversiongc.NewStorageVersionGC(ctx, client, e.informers.Coordination().V1().Leases(), e.informers.Internal().V1alpha1().StorageVersions())
			return c.Run, nil
		},
	},
	{name: names.StorageVersionMigratorController, agent: names.StorageVersionMigratorController, build: buildStorageMigrator},
}

func buildStorageMigrator(ctx context.Context, e *environment, client kubernetes.Interface) (run, error) {
	if !utilfeature.DefaultFeatureGate.Enabled(features.StorageVersionMigrator) ||
		!clientfeatures.FeatureGates().Enabled(clientfeatures.InformerResourceVersion) {
		return nil, nil
	}
	if !clientfeatures.FeatureGates().Enabled(clientfeatures.InOrderInformers) {
		return nil, errors.New("client-go's feature InOrderInformers must be enabled: unset KUBE_FEATURE_InOrderInformers")
	}
	const name = names.StorageVersionMigratorController
	cfg, err := e.clients.Config(name)
	if err != nil {
		return nil, err
	}
	// A migration writes all objects of a resource.
	cfg.QPS *= 20
	cfg.Burst *= 100
	dynamicClient, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	metadataClient, err := metadata.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	discoveryClient, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return nil, err
	}
	crds, err := clientset.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	graph, err := e.garbage.graph(ctx)
	if err != nil {
		return nil, fmt.Errorf("wait for the garbage collector: %w", err)
	}
	migrations := e.informers.Storagemigration().V1().StorageVersionMigrations()
	return together(
		storageversionmigrator.NewSVMController(ctx, client, dynamicClient, migrations, name, e.mapper, graph).Run,
		storageversionmigrator.NewResourceVersionController(ctx, client, discoveryClient, metadataClient, migrations, e.mapper).Run,
		storageversionmigrator.NewCustomResourceController(ctx, client, migrations, crds.ApiextensionsV1().CustomResourceDefinitions()).Run,
	), nil
}
