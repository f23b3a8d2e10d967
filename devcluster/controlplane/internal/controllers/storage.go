package controllers

import (
	"context"
	"fmt"

	"k8s.io/client-go/kubernetes"
	"k8s.io/component-base/featuregate"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller/volume/ephemeral"
	"k8s.io/kubernetes/pkg/controller/volume/persistentvolume"
	"k8s.io/kubernetes/pkg/controller/volume/persistentvolume/config"
	"k8s.io/kubernetes/pkg/controller/volume/pvcprotection"
	"k8s.io/kubernetes/pkg/controller/volume/pvprotection"
	"k8s.io/kubernetes/pkg/controller/volume/vacprotection"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/volume"
	"k8s.io/kubernetes/pkg/volume/hostpath"
	"k8s.io/kubernetes/pkg/volume/nfs"
)

// storageControllers are the controllers of volumes and their claims.
var storageControllers = []controller{
	{
		name: names.PersistentVolumeBinderController, agent: "persistent-volume-binder",
		build: func(ctx context.Context, e *environment, client kubernetes.Interface) (run, error) {
			core, s := e.informers.Core().V1(), e.settings.PersistentVolumeBinderController
			c, err := persistentvolume.NewController(ctx, persistentvolume.ControllerParameters{
				KubeClient: client, SyncPeriod: s.PVClaimBinderSyncPeriod.Duration, VolumePlugins: volumePlugins(s.VolumeConfiguration),
				VolumeInformer: core.PersistentVolumes(), ClaimInformer: core.PersistentVolumeClaims(),
				ClassInformer: e.informers.Storage().V1().StorageClasses(), PodInformer: core.Pods(), NodeInformer: core.Nodes(),
				EnableDynamicProvisioning: s.VolumeConfiguration.EnableDynamicProvisioning,
			})
			return c.Run, err
		},
	},
	{
		name: names.EphemeralVolumeController, agent: "ephemeral-volume-controller",
		build: func(ctx context.Context, e *environment, client kubernetes.Interface) (run, error) {
			core := e.informers.Core().V1()
			c, err := ephemeral.NewController(ctx, client, core.Pods(), core.PersistentVolumeClaims())
			if err != nil {
				return nil, err
			}
			return workers(c.Run, e.settings.EphemeralVolumeController.ConcurrentEphemeralVolumeSyncs), nil
		},
	},
	{
		name: names.PersistentVolumeClaimProtectionController, agent: "pvc-protection-controller",
		build: func(ctx context.Context, e *environment, client kubernetes.Interface) (run, error) {
			core := e.informers.Core().V1()
			c, err := pvcprotection.NewPVCProtectionController(klog.FromContext(ctx), core.PersistentVolumeClaims(), core.Pods(), client)
			return workers(c.Run, 1), err
		},
	},
	{
		name: names.PersistentVolumeProtectionController, agent: "pv-protection-controller",
		build: func(ctx context.Context, e *environment, client kubernetes.Interface) (run, error) {
			c, err := pvprotection.NewPVProtectionController(klog.FromContext(ctx), e.informers.Core().V1().PersistentVolumes(), client)
			if err != nil {
				return nil, fmt.Errorf("watch the volumes: %w", err)
			}
			return workers(c.Run, 1), nil
		},
	},
	{
		name: names.VolumeAttributesClassProtectionController, agent: "volumeattributesclass-protection-controller",
		gates: []featuregate.Feature{features.VolumeAttributesClass},
		build: func(ctx context.Context, e *environment, client kubernetes.Interface) (run, error) {
			core := e.informers.Core().V1()
			c, err := vacprotection.NewVACProtectionController(klog.FromContext(ctx), client, core.PersistentVolumeClaims(), core.PersistentVolumes(),
				e.informers.Storage().V1().VolumeAttributesClasses())
			return workers(c.Run, 1), err
		},
	},
}

// volumePlugins returns the built-in plugins that the binder uses: those that can provision, delete or recycle volumes.
func volumePlugins(c config.VolumeConfiguration) []volume.VolumePlugin {
	r := c.PersistentVolumeRecyclerConfiguration
	return append(
		hostpath.ProbeVolumePlugins(volume.VolumeConfig{
			RecyclerMinimumTimeout: int(r.MinimumTimeoutHostPath), RecyclerTimeoutIncrement: int(r.IncrementTimeoutHostPath),
			RecyclerPodTemplate: volume.NewPersistentVolumeRecyclerPodTemplate(), ProvisioningEnabled: c.EnableHostPathProvisioning,
		}),
		nfs.ProbeVolumePlugins(volume.VolumeConfig{
			RecyclerMinimumTimeout: int(r.MinimumTimeoutNFS), RecyclerTimeoutIncrement: int(r.IncrementTimeoutNFS),
			RecyclerPodTemplate: volume.NewPersistentVolumeRecyclerPodTemplate(),
		})...)
}
