// Package hooks has handlers of the operator's own activities: startup, cleanup, login, probes.
package hooks

import (
	"context"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/url"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/metrics"
)

// hooks is the state that the handlers share. Each operator has its own.
type hooks struct {
	mu      sync.Mutex
	tasks   map[string]context.CancelFunc
	running sync.WaitGroup
}

// Register registers the handlers. kopf dev and kopf run call it.
func Register(r *kopf.Registry) {
	h := &hooks{}
	kopf.OnStartup(r, h.startup)
	kopf.OnStartup(r, startupRetried)
	kopf.OnCleanup(r, h.cleanup)
	kopf.OnLogin(r, login, kopf.ErrorsPermanent)
	kopf.OnProbe(r, h.tasksCount, kopf.ID("tasks_count"))
	kopf.OnProbe(r, h.monitored, kopf.ID("monitored_objects"))
	kopf.OnEvent(r, kopf.Resource("v1", "pods"), h.podTask)
}

func (h *hooks) startup(_ context.Context, a *kopf.Activity) error {
	a.Logger.Info("initialising the tasks")
	a.Settings.Posting.Level = slog.LevelWarn
	if endpoint, err := url.Parse(a.Settings.Process.Liveness); err == nil && endpoint.Host != "" {
		endpoint.Path = "/metrics" // on the same port as the liveness endpoint
		a.Settings.Process.Metrics = metrics.At(endpoint.String())
	}
	h.tasks = map[string]context.CancelFunc{}
	return nil
}

// startupRetried succeeds at the fourth attempt. The operator starts only after that.
func startupRetried(_ context.Context, a *kopf.Activity) error {
	if a.Retry < 3 {
		return kopf.Temporaryf(time.Second, "going to succeed in %ds", 3-a.Retry)
	}
	a.Logger.Info("starting after retries")
	return nil
}

func (h *hooks) cleanup(_ context.Context, a *kopf.Activity) error {
	h.mu.Lock()
	for _, cancel := range h.tasks {
		cancel()
	}
	h.mu.Unlock()
	a.Logger.Info("stopping the tasks of all pods")
	h.running.Wait()
	return nil
}

// login uses the kubeconfig as kubectl does. It is repeated every 30 seconds.
func login(ctx context.Context, a *kopf.Activity) (*kopf.ConnectionInfo, error) {
	info, err := kopf.LoginWithKubeconfig(ctx, a)
	if info != nil {
		info.Expiration = time.Now().Add(30 * time.Second)
	}
	return info, err
}

func (h *hooks) tasksCount(context.Context, *kopf.Activity) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.tasks), nil
}

func (h *hooks) monitored(context.Context, *kopf.Activity) ([]string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Sorted(maps.Keys(h.tasks)), nil
}

func (h *hooks) podTask(_ context.Context, e *kopf.Event[kopf.Object]) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	key := e.Namespace + "/" + e.Name
	cancel, known := h.tasks[key]
	switch {
	case e.Type == watch.Deleted && known:
		cancel()
		delete(h.tasks, key)
	case e.Type != watch.Deleted && !known:
		ctx, cancel := context.WithCancel(context.Background()) // it continues after the event
		h.tasks[key] = cancel
		h.running.Go(func() { serve(ctx, e.Logger) })
	}
	return nil
}

func serve(ctx context.Context, logger *slog.Logger) {
	for {
		select {
		case <-ctx.Done():
			logger.Info("the task has ended")
			return
		case <-time.After(time.Duration(1+rand.IntN(9)) * time.Second):
			logger.Info("served by the task")
		}
	}
}
