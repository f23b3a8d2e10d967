// Package indexing keeps indices of all pods in memory.
package indexing

import (
	"context"
	"slices"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

// Pod has the fields that the handlers read.
type Pod struct {
	Status struct {
		Conditions []struct {
			Type   string `json:"type"`
			Status string `json:"status"`
		} `json:"conditions"`
	} `json:"status"`
}

// The types of the keys of the indices. Any comparable type can be used.
type (
	podKey struct{ namespace, name string }
	label  struct{ name, value string }
)

// indices has the handles of the indices. Their content belongs to the operator that calls the
// handler.
type indices struct {
	ready   *kopf.Index[podKey, bool]
	byLabel *kopf.Index[label, string]
}

// Register registers the handlers. kopf dev and kopf run call it.
func Register(r *kopf.Registry) { register(r, 5*time.Second) }

func register(r *kopf.Registry, interval time.Duration) {
	pods, kex := kopf.Resource("v1", "pods"), kopf.Resource("kopf.dev/v1", "kopfexamples")
	i := &indices{
		ready:   kopf.NewIndex(r, pods, isReady),
		byLabel: kopf.NewIndex(r, pods, byLabel),
	}
	kopf.OnProbe(r, i.podCount)
	kopf.Timer(r, kex, i.report, kopf.Interval(interval))
}

// isReady returns one key for each pod.
func isReady(_ context.Context, p *kopf.IndexRequest[Pod]) (map[podKey]bool, error) {
	ready := false
	for _, c := range p.Object.Status.Conditions {
		ready = ready || c.Type == "Ready" && c.Status == "True"
	}
	return map[podKey]bool{{p.Namespace, p.Name}: ready}, nil
}

// byLabel returns a key for each label of the pod. All pods with a label are under its key.
func byLabel(_ context.Context, p *kopf.IndexRequest[kopf.Object]) (map[label]string, error) {
	names := map[label]string{}
	for name, value := range p.Labels {
		names[label{name, value}] = p.Name
	}
	return names, nil
}

// podCount is part of the liveness response.
func (i *indices) podCount(ctx context.Context, _ *kopf.Activity) (int, error) {
	return i.ready.Len(ctx), nil
}

// report writes the indexed pods to the status. It needs no request to read them.
func (i *indices) report(ctx context.Context, t *kopf.TimerTick[kopf.Object]) error {
	ready := []string{}
	for pod, is := range i.ready.All(ctx) {
		if is && pod.namespace == t.Namespace {
			ready = append(ready, pod.name)
		}
	}
	slices.Sort(ready)
	tier := kopf.GetOr(t.Object, "spec.tier", "web")
	named := append([]string{}, i.byLabel.Get(ctx, label{"tier", tier})...)
	slices.Sort(named)
	t.Patch.Set("status.readyPods", ready)
	t.Patch.Set("status.pods", named)
	t.Logger.Info("pods", "all", i.ready.Len(ctx), "ready", ready, tier, named)
	return nil
}
