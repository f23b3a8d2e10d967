package controllers

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/cache"
	"k8s.io/controller-manager/pkg/informerfactory"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"
)

const (
	garbageWorkers = 5
	// garbageResync is how often the collector compares the served resources with those it
	// watches. The comparison is cheap, because cachedDiscovery answers it.
	garbageResync = 250 * time.Millisecond
	// garbageSyncTimeout bounds the wait for the initial sync of the caches.
	garbageSyncTimeout = 10 * time.Second
)

// GarbageCollector is upstream's garbage collector. In the controller manager it would look for new resources only every
// 30 s, which would delay cascading deletions of new CRDs; here it watches them within a second.
type GarbageCollector struct {
	cfg     *rest.Config
	watched chan struct{}                  // closed when builder is set
	builder *garbagecollector.GraphBuilder // watches all resources
}

// NewGarbageCollector returns a garbage collector for Run.
func NewGarbageCollector(cfg *rest.Config) *GarbageCollector {
	return &GarbageCollector{cfg: cfg, watched: make(chan struct{})}
}

// graph waits until the garbage collector runs, and returns its graph of all objects.
func (g *GarbageCollector) graph(ctx context.Context) (*garbagecollector.GraphBuilder, error) {
	select {
	case <-g.watched:
		return g.builder, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Run collects garbage until the context is cancelled. It must be called once.
func (g *GarbageCollector) Run(ctx context.Context) error {
	client, err := kubernetes.NewForConfig(g.cfg)
	if err != nil {
		return fmt.Errorf("configure the garbage collector: %w", err)
	}
	metadataClient, err := metadata.NewForConfig(g.cfg)
	if err != nil {
		return fmt.Errorf("configure the garbage collector: %w", err)
	}
	shared := informers.NewSharedInformerFactory(client, 0)
	partial := metadatainformer.NewSharedInformerFactory(metadataClient, 0)
	started := make(chan struct{})
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client.Discovery()))
	g.builder = garbagecollector.NewDependencyGraphBuilder(ctx, metadataClient, mapper,
		garbagecollector.DefaultIgnoredResources(), informerfactory.NewInformerFactory(shared, partial), started)
	collector, err := garbagecollector.NewComposedGarbageCollector(ctx, client, metadataClient, mapper, g.builder)
	if err != nil {
		return fmt.Errorf("configure the garbage collector: %w", err)
	}
	resources := newCachedDiscovery(client.Discovery(), time.Now)
	crds := partial.ForResource(apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")).Informer()
	if _, err := crds.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { resources.changed() },
		UpdateFunc: func(any, any) { resources.changed() },
		DeleteFunc: func(any) { resources.changed() },
	}); err != nil {
		return fmt.Errorf("watch the custom resources: %w", err)
	}
	shared.Start(ctx.Done())
	partial.Start(ctx.Done())
	close(started)
	close(g.watched)

	var wg sync.WaitGroup
	wg.Go(func() { collector.Run(ctx, garbageWorkers, garbageSyncTimeout) })
	wg.Go(func() { collector.Sync(ctx, resources, garbageResync) })
	wg.Wait()
	shared.Shutdown()
	partial.Shutdown()
	if ctx.Err() == nil {
		return errors.New("the garbage collector stopped unexpectedly")
	}
	return nil
}
