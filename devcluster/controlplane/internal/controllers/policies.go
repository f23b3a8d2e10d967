package controllers

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/scheme"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/cel/openapi/resolver"
	"k8s.io/apiserver/pkg/quota/v1/generic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	upstream "k8s.io/kubernetes/pkg/controller"
	"k8s.io/kubernetes/pkg/controller/namespace"
	"k8s.io/kubernetes/pkg/controller/resourcequota"
	"k8s.io/kubernetes/pkg/controller/validatingadmissionpolicystatus"
	"k8s.io/kubernetes/pkg/generated/openapi"
	"k8s.io/kubernetes/pkg/quota/v1/install"
)

// quotaSync is how often the quotas look for new resources.
const quotaSync = 30 * time.Second

// policyControllers are the controllers of namespaces, of quotas, and of admission policies.
var policyControllers = []controller{
	{name: names.NamespaceController, agent: "namespace-controller", build: buildNamespaces},
	{name: names.ResourceQuotaController, agent: "resourcequota-controller", build: buildQuotas},
	{name: names.ValidatingAdmissionPolicyStatusController, agent: names.ValidatingAdmissionPolicyStatusController, build: buildPolicyStatus},
}

func buildNamespaces(ctx context.Context, e *environment, _ kubernetes.Interface) (run, error) {
	cfg, err := e.clients.Config("namespace-controller")
	if err != nil {
		return nil, err
	}
	// It makes a request for each resource, served or not, of each deleted namespace.
	cfg.QPS *= 20
	cfg.Burst *= 100
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	metadataClient, err := metadata.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	s := e.settings.NamespaceController
	c := namespace.NewNamespaceController(ctx, client, metadataClient, client.Discovery().ServerPreferredNamespacedResources,
		e.informers.Core().V1().Namespaces(), s.NamespaceSyncPeriod.Duration, corev1.FinalizerKubernetes)
	return workers(c.Run, s.ConcurrentNamespaceSyncs), nil
}

func buildQuotas(ctx context.Context, e *environment, client kubernetes.Interface) (run, error) {
	discover := client.Discovery().ServerPreferredNamespacedResources
	quotas, err := install.NewQuotaConfigurationForControllers(generic.ListerFuncForResourceFunc(e.informers.ForResource), e.informers)
	if err != nil {
		return nil, fmt.Errorf("configure the quotas: %w", err)
	}
	s := e.settings.ResourceQuotaController
	c, err := resourcequota.NewController(ctx, &resourcequota.ControllerOptions{
		QuotaClient: client.CoreV1(), ResourceQuotaInformer: e.informers.Core().V1().ResourceQuotas(),
		ResyncPeriod:    upstream.StaticResyncPeriodFunc(s.ResourceQuotaSyncPeriod.Duration),
		InformerFactory: e.anyInformers, ReplenishmentResyncPeriod: e.resync, InformersStarted: e.informersStarted,
		DiscoveryFunc: discover, IgnoredResourcesFunc: quotas.IgnoredResources,
		Registry: generic.NewRegistry(quotas.Evaluators()), UpdateFilter: install.DefaultUpdateFilter(),
	})
	if err != nil {
		return nil, err
	}
	return together(
		workers(c.Run, s.ConcurrentResourceQuotaSyncs),
		func(ctx context.Context) { c.Sync(ctx, discover, quotaSync) },
	), nil
}

// buildPolicyStatus builds the controller that type-checks the expressions of ValidatingAdmissionPolicies.
func buildPolicyStatus(_ context.Context, e *environment, client kubernetes.Interface) (run, error) {
	c, err := validatingadmissionpolicystatus.NewController(
		e.informers.Admissionregistration().V1().ValidatingAdmissionPolicies(),
		client.AdmissionregistrationV1().ValidatingAdmissionPolicies(),
		&validating.TypeChecker{
			SchemaResolver: resolver.NewDefinitionsSchemaResolver(openapi.GetOpenAPIDefinitions, scheme.Scheme, apiextensions.Scheme).
				Combine(&resolver.ClientDiscoveryResolver{Discovery: client.Discovery()}),
			RestMapper: e.mapper,
		})
	return workers(c.Run, e.settings.ValidatingAdmissionPolicyStatusController.ConcurrentPolicySyncs), err
}
