package controllers

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/restmapper"
	"k8s.io/controller-manager/pkg/clientbuilder"
	"k8s.io/controller-manager/pkg/informerfactory"
	managerconfig "k8s.io/kubernetes/cmd/kube-controller-manager/app/config"
	"k8s.io/kubernetes/pkg/controller/apis/config"
)

// mapperReset is how often the kinds that the server serves are read anew.
const mapperReset = 30 * time.Second

// environment has the values that the controllers share.
type environment struct {
	clients           clientbuilder.SimpleControllerClientBuilder
	informers         informers.SharedInformerFactory
	metadataInformers metadatainformer.SharedInformerFactory
	// anyInformers has informers of built-in resources, and of the metadata of others.
	anyInformers     informerfactory.InformerFactory
	informersStarted chan struct{}
	resync           func() time.Duration
	mapper           *restmapper.DeferredDiscoveryRESTMapper
	settings         config.KubeControllerManagerConfiguration
	rootCA           []byte
	garbage          *GarbageCollector
}

func newEnvironment(ctx context.Context, c *managerconfig.Config, garbage *GarbageCollector) (*environment, error) {
	rootCA, err := os.ReadFile(c.ComponentConfig.SAController.RootCAFile)
	if err != nil {
		return nil, fmt.Errorf("read the certificate authority: %w", err)
	}
	clients := clientbuilder.SimpleControllerClientBuilder{ClientConfig: c.Kubeconfig}
	client, err := clients.Client("shared-informers")
	if err != nil {
		return nil, err
	}
	metadataConfig, err := clients.Config("metadata-informers")
	if err != nil {
		return nil, err
	}
	metadataClient, err := metadata.NewForConfig(metadataConfig)
	if err != nil {
		return nil, err
	}
	// The controllers must not resync all at the same time.
	resync := func() time.Duration {
		return time.Duration((1 + rand.Float64()) * float64(c.ComponentConfig.Generic.MinResyncPeriod.Duration))
	}
	e := &environment{
		clients:           clients,
		informers:         informers.NewSharedInformerFactoryWithOptions(client, resync(), informers.WithTransform(dropManagedFields)),
		metadataInformers: metadatainformer.NewSharedInformerFactoryWithOptions(metadataClient, resync(), metadatainformer.WithTransform(dropManagedFields)),
		informersStarted:  make(chan struct{}),
		resync:            resync,
		mapper:            newMapper(ctx, client),
		settings:          c.ComponentConfig,
		rootCA:            rootCA,
		garbage:           garbage,
	}
	e.anyInformers = informerfactory.NewInformerFactory(e.informers, e.metadataInformers)
	return e, nil
}

// newMapper returns a mapper that notices new kinds until the context is cancelled.
func newMapper(ctx context.Context, client kubernetes.Interface) *restmapper.DeferredDiscoveryRESTMapper {
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client.Discovery()))
	go wait.UntilWithContext(ctx, func(context.Context) { mapper.Reset() }, mapperReset)
	return mapper
}

// dropManagedFields saves memory in the caches of informers.
func dropManagedFields(o any) (any, error) {
	if accessor, err := meta.Accessor(o); err == nil && accessor.GetManagedFields() != nil {
		accessor.SetManagedFields(nil)
	}
	return o, nil
}
