package controllers

import (
	"context"
	"fmt"
	"time"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/dynamic"
	scheduling "k8s.io/client-go/informers/scheduling/v1beta1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/scale"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/component-base/featuregate"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller/cronjob"
	"k8s.io/kubernetes/pkg/controller/daemon"
	"k8s.io/kubernetes/pkg/controller/deployment"
	"k8s.io/kubernetes/pkg/controller/disruption"
	"k8s.io/kubernetes/pkg/controller/job"
	"k8s.io/kubernetes/pkg/controller/podautoscaler"
	"k8s.io/kubernetes/pkg/controller/podautoscaler/metrics"
	"k8s.io/kubernetes/pkg/controller/replicaset"
	"k8s.io/kubernetes/pkg/controller/replication"
	"k8s.io/kubernetes/pkg/controller/scheduling/podgroupprotection"
	"k8s.io/kubernetes/pkg/controller/statefulset"
	"k8s.io/kubernetes/pkg/controller/ttlafterfinished"
	"k8s.io/kubernetes/pkg/features"
	resourcemetrics "k8s.io/metrics/pkg/client/clientset/versioned/typed/metrics/v1beta1"
	"k8s.io/metrics/pkg/client/custom_metrics"
	"k8s.io/metrics/pkg/client/external_metrics"
)

// workloadControllers create pods, and decide how many there are.
var workloadControllers = []controller{
	{
		name: names.DeploymentController, agent: "deployment-controller",
		build: func(ctx context.Context, e *environment, client kubernetes.Interface) (run, error) {
			apps := e.informers.Apps().V1()
			c, err := deployment.NewDeploymentController(ctx, apps.Deployments(), apps.ReplicaSets(), e.informers.Core().V1().Pods(), client)
			return workers(c.Run, e.settings.DeploymentController.ConcurrentDeploymentSyncs), err
		},
	},
	{
		name: names.ReplicaSetController, agent: "replicaset-controller",
		build: func(ctx context.Context, e *environment, client kubernetes.Interface) (run, error) {
			c := replicaset.NewReplicaSetController(ctx, e.informers.Apps().V1().ReplicaSets(), e.informers.Core().V1().Pods(), client, replicaset.BurstReplicas)
			return workers(c.Run, e.settings.ReplicaSetController.ConcurrentRSSyncs), nil
		},
	},
	{
		name: names.ReplicationControllerController, agent: "replication-controller",
		build: func(ctx context.Context, e *environment, client kubernetes.Interface) (run, error) {
			core := e.informers.Core().V1()
			c := replication.NewReplicationManager(ctx, core.Pods(), core.ReplicationControllers(), client, replication.BurstReplicas)
			return workers(c.Run, e.settings.ReplicationController.ConcurrentRCSyncs), nil
		},
	},
	{
		name: names.StatefulSetController, agent: "statefulset-controller",
		build: func(ctx context.Context, e *environment, client kubernetes.Interface) (run, error) {
			core, apps := e.informers.Core().V1(), e.informers.Apps().V1()
			c := statefulset.NewStatefulSetController(ctx, core.Pods(), apps.StatefulSets(), core.PersistentVolumeClaims(), apps.ControllerRevisions(), client)
			return workers(c.Run, e.settings.StatefulSetController.ConcurrentStatefulSetSyncs), nil
		},
	},
	{
		name: names.DaemonSetController, agent: "daemon-set-controller",
		build: func(ctx context.Context, e *environment, client kubernetes.Interface) (run, error) {
			core, apps := e.informers.Core().V1(), e.informers.Apps().V1()
			c, err := daemon.NewDaemonSetsController(ctx, apps.DaemonSets(), apps.ControllerRevisions(), core.Pods(), core.Nodes(), client,
				flowcontrol.NewBackOff(time.Second, 15*time.Minute))
			return workers(c.Run, e.settings.DaemonSetController.ConcurrentDaemonSetSyncs), err
		},
	},
	{
		name: names.JobController, agent: "job-controller",
		build: func(ctx context.Context, e *environment, client kubernetes.Interface) (run, error) {
			var workloads scheduling.WorkloadInformer
			var groups scheduling.PodGroupInformer
			if utilfeature.DefaultFeatureGate.Enabled(features.WorkloadWithJob) {
				workloads, groups = e.informers.Scheduling().V1beta1().Workloads(), e.informers.Scheduling().V1beta1().PodGroups()
			}
			c, err := job.NewController(ctx, client, e.informers.Core().V1().Pods(), e.informers.Batch().V1().Jobs(), workloads, groups)
			return workers(c.Run, e.settings.JobController.ConcurrentJobSyncs), err
		},
	},
	{
		name: names.CronJobController, agent: "cronjob-controller",
		build: func(ctx context.Context, e *environment, client kubernetes.Interface) (run, error) {
			c, err := cronjob.NewControllerV2(ctx, e.informers.Batch().V1().Jobs(), e.informers.Batch().V1().CronJobs(), client)
			return workers(c.Run, e.settings.CronJobController.ConcurrentCronJobSyncs), err
		},
	},
	{
		name: names.TTLAfterFinishedController, agent: "ttl-after-finished-controller",
		build: func(ctx context.Context, e *environment, client kubernetes.Interface) (run, error) {
			c := ttlafterfinished.New(ctx, e.informers.Batch().V1().Jobs(), client)
			return workers(c.Run, e.settings.TTLAfterFinishedController.ConcurrentTTLSyncs), nil
		},
	},
	{
		name: names.PodGroupProtectionController, agent: names.PodGroupProtectionController,
		gates: []featuregate.Feature{features.GenericWorkload},
		build: func(ctx context.Context, e *environment, client kubernetes.Interface) (run, error) {
			c, err := podgroupprotection.NewPodGroupProtectionController(klog.FromContext(ctx),
				e.informers.Scheduling().V1beta1().PodGroups(), e.informers.Core().V1().Pods(), client)
			return workers(c.Run, 1), err
		},
	},
	{name: names.HorizontalPodAutoscalerController, agent: "horizontal-pod-autoscaler", build: buildAutoscaler},
	{name: names.DisruptionController, agent: "disruption-controller", build: buildDisruption},
}

func buildAutoscaler(ctx context.Context, e *environment, client kubernetes.Interface) (run, error) {
	scales, err := e.scales("horizontal-pod-autoscaler", client)
	if err != nil {
		return nil, err
	}
	cfg, err := e.clients.Config("horizontal-pod-autoscaler")
	if err != nil {
		return nil, err
	}
	resources, err := resourcemetrics.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("configure the client of resource metrics: %w", err)
	}
	external, err := external_metrics.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("configure the client of external metrics: %w", err)
	}
	versions := custom_metrics.NewAvailableAPIsGetter(client.Discovery())
	s := e.settings.HPAController
	c := podautoscaler.NewHorizontalController(ctx, client.CoreV1(), scales, client.AutoscalingV2(), e.mapper,
		metrics.NewRESTMetricsClient(resources, custom_metrics.NewForConfig(cfg, e.mapper, versions), external),
		e.informers.Autoscaling().V2().HorizontalPodAutoscalers(), e.informers.Core().V1().Pods(),
		s.HorizontalPodAutoscalerSyncPeriod.Duration,
		s.HorizontalPodAutoscalerDownscaleStabilizationWindow.Duration,
		s.HorizontalPodAutoscalerTolerance,
		s.HorizontalPodAutoscalerCPUInitializationPeriod.Duration,
		s.HorizontalPodAutoscalerInitialReadinessDelay.Duration,
	)
	return together(
		func(ctx context.Context) {
			custom_metrics.PeriodicallyInvalidate(versions, s.HorizontalPodAutoscalerSyncPeriod.Duration, ctx.Done())
		},
		workers(c.Run, s.ConcurrentHorizontalPodAutoscalerSyncs),
	), nil
}

func buildDisruption(ctx context.Context, e *environment, client kubernetes.Interface) (run, error) {
	scales, err := e.scales("disruption-controller", client)
	if err != nil {
		return nil, err
	}
	core, apps := e.informers.Core().V1(), e.informers.Apps().V1()
	c := disruption.NewDisruptionController(ctx, core.Pods(), e.informers.Policy().V1().PodDisruptionBudgets(), core.ReplicationControllers(),
		apps.ReplicaSets(), apps.Deployments(), apps.StatefulSets(), client, e.mapper, scales, client.Discovery())
	return workers(c.Run, e.settings.DisruptionController.ConcurrentDisruptionSyncs), nil
}

// scales returns a client of the subresource by which anything can be scaled.
func (e *environment) scales(agent string, client kubernetes.Interface) (scale.ScalesGetter, error) {
	cfg, err := e.clients.Config(agent)
	if err != nil {
		return nil, err
	}
	scales, err := scale.NewForConfig(cfg, e.mapper, dynamic.LegacyAPIPathResolverFunc, scale.NewDiscoveryScaleKindResolver(client.Discovery()))
	if err != nil {
		return nil, fmt.Errorf("configure the client of scales: %w", err)
	}
	return scales, nil
}
