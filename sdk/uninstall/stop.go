package uninstall

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

var (
	deploymentResource = resources.Resource{Group: "apps", Version: "v1", Plural: "deployments", Kind: "Deployment", Namespaced: true}
	replicaSetResource = resources.Resource{Group: "apps", Version: "v1", Plural: "replicasets", Kind: "ReplicaSet", Namespaced: true}
	podResource        = resources.Resource{Version: "v1", Plural: "pods", Kind: "Pod", Namespaced: true}
)

// hashLabel is on the pods of all Deployments. Its value is the hash in the name of the pod's ReplicaSet, which
// consists of the Deployment's name, a hyphen and the hash.
const hashLabel = "pod-template-hash"

// stop scales the Deployment to zero, and waits until its pods have ended, if the options ask for it.
func (r *remover) stop(ctx context.Context) error {
	if r.options.StopTimeout <= 0 || r.target.Deployment == "" {
		return nil
	}
	name := "deployments.apps/" + r.target.Deployment + " in " + r.target.DeploymentNamespace
	replicas, selector, err := r.scale(ctx)
	if err == nil {
		err = r.scaleDown(ctx, name, replicas)
	}
	switch {
	case err != nil && kube.Classify(err) != kube.NotFound:
		return fmt.Errorf("stop %s: %w", name, err)
	case r.options.DryRun:
		return nil
	}
	return r.await(ctx, func(ctx context.Context) error {
		if selector != "" {
			if err := r.scaledDown(ctx, selector); err != nil {
				return err
			}
		}
		return r.podsGone(ctx, selector)
	})
}

// scale returns the desired number of replicas of the Deployment, and the selector of its pods. Its name and labels
// can differ from the manifest.
func (r *remover) scale(ctx context.Context) (replicas int, selector string, err error) {
	path, err := deploymentResource.Path(r.target.DeploymentNamespace, r.target.Deployment, "scale", nil)
	if err != nil {
		return 0, "", err
	}
	body, err := r.kube.Do(ctx, kube.Request{Method: http.MethodGet, Path: path})
	if err != nil {
		return 0, "", err
	}
	var scale struct {
		Spec   struct{ Replicas int }
		Status struct{ Selector string }
	}
	err = json.Unmarshal(body, &scale)
	return scale.Spec.Replicas, scale.Status.Selector, err
}

// scaleDown scales the Deployment to zero, or announces that in a dry run.
func (r *remover) scaleDown(ctx context.Context, name string, replicas int) error {
	switch {
	case replicas == 0:
		return nil
	case r.options.DryRun:
		r.print("%s: %s to stop", name, count(replicas, "replica"))
		return nil
	}
	none := []byte(`{"spec":{"replicas":0}}`)
	if _, err := r.kube.Patch(ctx, &deploymentResource, r.target.DeploymentNamespace, r.target.Deployment, "scale", patch.MergeType, none); err != nil {
		return err
	}
	r.print("%s: scaled to 0", name)
	return nil
}

// scaledDown returns an error that wraps [ErrInUse] until the controllers of the Deployment and of its ReplicaSets have
// noticed the scaling. Before that, they can create another pod.
func (r *remover) scaledDown(ctx context.Context, selector string) error {
	const doing = "wait until the operator is scaled down: %w"
	deployment, err := r.kube.Get(ctx, &deploymentResource, r.target.DeploymentNamespace, r.target.Deployment)
	if kube.Classify(err) == kube.NotFound {
		return nil // deleted since; the selector still finds its pods
	}
	if err != nil {
		return fmt.Errorf(doing, err)
	}
	sets, err := r.kube.List(ctx, &replicaSetResource, r.target.DeploymentNamespace, kube.ListOptions{LabelSelector: selector})
	if err != nil {
		return fmt.Errorf(doing, err)
	}
	for _, obj := range append(sets.Items, deployment) {
		var content struct {
			Metadata struct{ Generation int64 }
			Spec     struct{ Replicas int }
			Status   struct{ ObservedGeneration int64 }
		}
		if err := json.Unmarshal(obj.Raw, &content); err != nil {
			return fmt.Errorf("read %s: %w", obj.Name, err)
		}
		if content.Spec.Replicas > 0 || content.Status.ObservedGeneration < content.Metadata.Generation {
			return fmt.Errorf("%w: its Deployment %s in %s is not scaled down yet", ErrInUse, r.target.Deployment, r.target.DeploymentNamespace)
		}
	}
	return nil
}

// podsGone returns an error that wraps [ErrInUse] while any of the selected pods runs. Without a selector, the
// Deployment does not exist: its pods are found by the name of their ReplicaSet, which may be deleted as well. Labels
// are no substitute, because a kustomization that changes the name of a Deployment does not change them.
func (r *remover) podsGone(ctx context.Context, selector string) error {
	orphans := selector == ""
	if orphans {
		selector = hashLabel
	}
	list, err := r.kube.List(ctx, &podResource, r.target.DeploymentNamespace, kube.ListOptions{LabelSelector: selector})
	if err != nil {
		return fmt.Errorf("wait until the operator has stopped: %w", err)
	}
	for _, pod := range list.Items {
		var content podContent
		if err := json.Unmarshal(pod.Raw, &content); err != nil {
			return fmt.Errorf("read the pod %s: %w", pod.Name, err)
		}
		if orphans && !content.isOf(r.target.Deployment) {
			continue
		}
		if phase := content.Status.Phase; phase != "Succeeded" && phase != "Failed" {
			return fmt.Errorf("%w: its pod %s in %s has not ended", ErrInUse, pod.Name, pod.Namespace)
		}
	}
	return nil
}

// podContent has the fields of a pod that are needed here.
type podContent struct {
	Metadata struct {
		Labels          map[string]string
		OwnerReferences []struct{ Kind, Name string }
	}
	Status struct{ Phase string }
}

// isOf reports whether a ReplicaSet of the Deployment has created the pod.
func (p *podContent) isOf(deployment string) bool {
	for _, owner := range p.Metadata.OwnerReferences {
		if owner.Kind == "ReplicaSet" && owner.Name == deployment+"-"+p.Metadata.Labels[hashLabel] {
			return true
		}
	}
	return false
}

// awaitRelease returns the leases. Unless this is a dry run, the operator holds none of them: if the operator was
// stopped here, awaitRelease waits, because a killed replica holds its lease until the lease expires.
func (r *remover) awaitRelease(ctx context.Context) (leases []remain, err error) {
	look := func(ctx context.Context) error {
		if leases, err = r.leases(ctx); err != nil {
			return fmt.Errorf("look whether the operator still runs: %w", err)
		}
		for _, lease := range leases {
			if lease.inUse != nil && !r.options.DryRun {
				return fmt.Errorf("uninstall: %s: %w", lease, lease.inUse)
			}
		}
		return nil
	}
	return leases, r.await(ctx, look)
}

// await looks again and again while the operator still runs, for as long as it has to stop.
func (r *remover) await(ctx context.Context, look func(context.Context) error) error {
	deadline := r.now().Add(r.options.StopTimeout)
	for {
		err := look(ctx)
		if !errors.Is(err, ErrInUse) || !r.now().Before(deadline) {
			return err
		}
		if stopped := wait(ctx, r.pause); stopped != nil {
			return fmt.Errorf("%w: %w", stopped, err)
		}
	}
}
