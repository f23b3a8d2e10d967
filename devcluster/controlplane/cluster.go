package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"sync"
	"time"

	"k8s.io/component-base/version"
	"k8s.io/klog/v2"

	"github.com/kopf-dev/kopf/devcluster/controlplane/internal/apiserver"
	"github.com/kopf-dev/kopf/devcluster/controlplane/internal/controllers"
	"github.com/kopf-dev/kopf/devcluster/controlplane/internal/datadir"
	"github.com/kopf-dev/kopf/devcluster/controlplane/internal/etcd"
	"github.com/kopf-dev/kopf/devcluster/controlplane/internal/layer"
	"github.com/kopf-dev/kopf/devcluster/controlplane/internal/loading"
	"github.com/kopf-dev/kopf/devcluster/controlplane/internal/node"
	"github.com/kopf-dev/kopf/devcluster/controlplane/internal/pki"
)

// componentGrace is how long each layer may take to stop. A layer that takes longer is
// abandoned: the process exits anyway, and all acknowledged writes are on disk.
const componentGrace = 3 * time.Second

// cluster has the running components in three layers: etcd, the API server, the controllers.
type cluster struct {
	server string
	failed chan error // the error of the first component that fails

	etcd        *etcd.Server
	api         *layer.Layer
	controllers *layer.Layer
}

// startCluster returns when the cluster is usable. If it fails, it stops all components.
func startCluster(ctx context.Context, o options, dir *datadir.Dir) (_ *cluster, err error) {
	last, err := lastServer(dir)
	if err != nil {
		return nil, err
	}
	listener, err := listen(o.port, last)
	if err != nil {
		return nil, err
	}
	c := &cluster{server: "https://" + listener.Addr().String(), failed: make(chan error, 1)}
	certs, err := c.startStorage(ctx, dir)
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	defer func() {
		if err != nil {
			c.stop()
		}
	}()
	admin, err := certs.AdminCredentials()
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	kubeconfig, err := admin.Kubeconfig(c.server, o.context)
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	if err := dir.WriteFile("kubeconfig", kubeconfig); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	// A copy has a single client, so that a cache would take more memory and time than it saves.
	settings := apiserver.Options{Gates: o.gates, Uncached: o.copied}
	if o.copied {
		// A client of the copy must not reach other hosts through the API server.
		settings.Isolation = dir.Path("egress.json")
		if err := dir.WriteFile("egress.json", []byte(apiserver.Isolation)); err != nil {
			return nil, errors.Join(err, listener.Close())
		}
	}
	c.startAPI(listener, certs, settings)
	if o.copied {
		if err := c.startLoading(); err != nil {
			return nil, err
		}
	}
	if err := c.startControllers(ctx, o, dir, certs, admin); err != nil {
		return nil, err
	}
	return c, nil
}

// lastServer returns the URL of the last start, or "".
func lastServer(dir *datadir.Dir) (string, error) {
	body, err := os.ReadFile(dir.Path(readyFile))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the state of the last start: %w", err)
	}
	var last ready
	if err := json.Unmarshal(body, &last); err != nil {
		return "", fmt.Errorf("read %s: %w", readyFile, err)
	}
	return last.Server, nil
}

// startStorage starts etcd and creates the certificates concurrently.
func (c *cluster) startStorage(ctx context.Context, dir *datadir.Dir) (certs pki.Store, err error) {
	var certsErr, etcdErr error
	var wg sync.WaitGroup
	wg.Go(func() { certs, certsErr = pki.Ensure(dir.Path("pki"), time.Now()) })
	c.etcd, etcdErr = etcd.Start(ctx, dir.Path())
	wg.Wait()
	if err := errors.Join(certsErr, etcdErr); err != nil {
		if c.etcd != nil {
			c.etcd.Stop()
		}
		return certs, err
	}
	go func() {
		if err, ok := <-c.etcd.Failed(); ok {
			c.fail(fmt.Errorf("etcd: %w", err))
		}
	}()
	return certs, nil
}

func (c *cluster) startAPI(l net.Listener, certs pki.Store, settings apiserver.Options) {
	c.api = layer.New(c.fail)
	c.api.Run("the API server", func(ctx context.Context) error {
		return apiserver.Run(ctx, l, c.etcd.Endpoint(), certs, settings)
	})
}

// startLoading accepts objects of another cluster.
func (c *cluster) startLoading() error {
	l, err := loading.Listen()
	if err != nil {
		return err
	}
	c.api.Run("the loading of objects", func(ctx context.Context) error { return loading.Run(ctx, l, c.etcd) })
	return nil
}

// startControllers waits for the API server, then starts the controllers.
func (c *cluster) startControllers(ctx context.Context, o options, dir *datadir.Dir, certs pki.Store, admin pki.Credentials) error {
	prober, err := apiserver.NewProber(admin.RESTConfig(c.server, "controlplane/prober"))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watched := make(chan struct{})
	go func() {
		select {
		case err := <-c.failed:
			cancel(err)
		case <-watched:
		}
	}()
	err = prober.Usable(ctx)
	close(watched)
	if err != nil {
		prober.Close()
		return fmt.Errorf("wait for the API server: %w", err)
	}
	c.controllers = layer.New(c.fail)
	c.controllers.Run("the backdating of CRDs", func(ctx context.Context) error {
		return controllers.RunCRDBackdating(ctx, admin.RESTConfig(c.server, "controlplane/established"))
	})
	garbage := controllers.NewGarbageCollector(admin.RESTConfig(c.server, "controlplane/garbage-collector"))
	if !o.copied {
		// It would delete copied objects whose owners are not copied.
		c.controllers.Run("the garbage collector", garbage.Run)
	}
	if o.node && !o.copied {
		c.controllers.Run("the simulated node", func(ctx context.Context) error {
			return node.Run(ctx, admin.RESTConfig(c.server, "controlplane/node"), version.Get().GitVersion)
		})
	}
	c.controllers.Run("the controller manager", func(ctx context.Context) error {
		defer prober.Close()
		// The manager polls for a healthy server once a second. Polling here is faster.
		if err := prober.Ready(ctx); err != nil {
			return err
		}
		return controllers.RunManager(ctx, dir.Path("kubeconfig"), certs, o.selected(), garbage)
	})
	return nil
}

// fail keeps the first error, which usually causes the others.
func (c *cluster) fail(err error) {
	klog.ErrorS(err, "Component failed")
	select {
	case c.failed <- err:
	default:
	}
}

// stop stops the layers in the reverse order of their start. Abandoned components are logged; they
// are no failure of the stop: see componentGrace.
func (c *cluster) stop() {
	stopLayer("controllers", c.controllers)
	stopLayer("API server", c.api)
	c.etcd.Stop()
}

func stopLayer(name string, l *layer.Layer) {
	if l == nil {
		return // not started
	}
	if err := l.Stop(componentGrace); err != nil {
		klog.InfoS("Abandoning components that did not stop in time", "layer", name, "err", err)
	}
}
