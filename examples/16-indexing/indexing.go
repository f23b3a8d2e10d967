// Package indexing keeps overviews of all pods in memory.
package indexing

import (
	"context"
	"slices"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

// Pod is what the handlers read of a pod.
type Pod struct {
	Status struct {
		Conditions []struct {
			Type   string `json:"type"`
			Status string `json:"status"`
		} `json:"conditions"`
	} `json:"status"`
}

// The keys of the indices: any comparable type will do.
type (
	podKey struct{ namespace, name string }
	label  struct{ name, value string }
)

// overview has the indices. Its fields are names only: what they stand for is found in the
// operator that calls the handler.
type overview struct {
	ready   *kopf.Index[podKey, bool]
	byLabel *kopf.Index[label, string]
}

// Register is what kopf dev and kopf run look for.
func Register(r *kopf.Registry) { register(r, 5*time.Second) }

func register(r *kopf.Registry, interval time.Duration) {
	pods, kex := kopf.Resource("v1", "pods"), kopf.Resource("kopf.dev/v1", "kopfexamples")
	o := &overview{
		ready:   kopf.NewIndex(r, pods, isReady),
		byLabel: kopf.NewIndex(r, pods, byLabel),
	}
	kopf.OnProbe(r, o.podCount)
	kopf.Timer(r, kex, o.report, kopf.Interval(interval))
}

// isReady has one key for each pod.
func isReady(_ context.Context, p *kopf.IndexRequest[Pod]) (map[podKey]bool, error) {
	ready := false
	for _, c := range p.Object.Status.Conditions {
		ready = ready || c.Type == "Ready" && c.Status == "True"
	}
	return map[podKey]bool{{p.Namespace, p.Name}: ready}, nil
}

// byLabel has as many keys as the pod has labels, and for each key all pods that have it.
func byLabel(_ context.Context, p *kopf.IndexRequest[kopf.Object]) (map[label]string, error) {
	names := map[label]string{}
	for name, value := range p.Labels {
		names[label{name, value}] = p.Name
	}
	return names, nil
}

// podCount is reported with the operator's health.
func (o *overview) podCount(ctx context.Context, _ *kopf.Activity) (int, error) {
	return o.ready.Len(ctx), nil
}

// report looks at pods without a single request.
func (o *overview) report(ctx context.Context, t *kopf.TimerTick[kopf.Object]) error {
	ready := []string{}
	for pod, is := range o.ready.All(ctx) {
		if is && pod.namespace == t.Namespace {
			ready = append(ready, pod.name)
		}
	}
	slices.Sort(ready)
	tier := kopf.GetOr(t.Object, "spec.tier", "web")
	named := append([]string{}, o.byLabel.Get(ctx, label{"tier", tier})...)
	slices.Sort(named)
	t.Patch.Set("status.readyPods", ready)
	t.Patch.Set("status.pods", named)
	t.Logger.Info("pods", "all", o.ready.Len(ctx), "ready", ready, tier, named)
	return nil
}
