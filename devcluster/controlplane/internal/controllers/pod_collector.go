package controllers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/wait"
	informers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	nodeutil "k8s.io/kubernetes/pkg/util/node"
	"k8s.io/kubernetes/pkg/util/pod"
	"k8s.io/kubernetes/pkg/util/taints"
)

const (
	podCollection = 20 * time.Second
	// nodeQuarantine is how long a node must be missing until its pods are deleted. The informer of pods may be ahead of
	// that of nodes.
	nodeQuarantine = 40 * time.Second
	// reasonEvicted is the reason that a kubelet gives for a pod that it has evicted.
	reasonEvicted = "Evicted"
)

// podCollector deletes the pods that no kubelet and no other controller deletes, like the pod garbage collector of
// Kubernetes. That one asks the kubelet's package whether a pod was evicted, and so compiles the kubelet, the scheduler,
// cAdvisor and containerd.
type podCollector struct {
	client kubernetes.Interface
	pods   listers.PodLister
	nodes  listers.NodeLister
	synced []cache.InformerSynced
	// threshold is the number of finished pods that are kept; 0 keeps all.
	threshold int
	now       func() time.Time
	missing   map[string]time.Time // time when a node of a pod was first missing, by its name
}

func newPodCollector(client kubernetes.Interface, pods informers.PodInformer, nodes informers.NodeInformer, threshold int) *podCollector {
	return &podCollector{
		client: client, pods: pods.Lister(), nodes: nodes.Lister(),
		synced:    []cache.InformerSynced{pods.Informer().HasSynced, nodes.Informer().HasSynced},
		threshold: threshold, now: time.Now, missing: map[string]time.Time{},
	}
}

func (c *podCollector) run(ctx context.Context) {
	if !cache.WaitForCacheSync(ctx.Done(), c.synced...) {
		return
	}
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		if err := c.collect(ctx); err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "Cannot delete all abandoned pods; trying again")
		}
	}, podCollection)
}

func (c *podCollector) collect(ctx context.Context) error {
	pods, err := c.pods.List(labels.Everything())
	if err != nil {
		return fmt.Errorf("list the pods: %w", err)
	}
	nodes, err := c.nodes.List(labels.Everything())
	if err != nil {
		return fmt.Errorf("list the nodes: %w", err)
	}
	byName := map[string]*corev1.Node{}
	for _, n := range nodes {
		byName[n.Name] = n
	}
	var failed error
	abandoned := append(surplus(pods, c.threshold), unattended(pods, byName)...)
	for _, p := range abandoned {
		failed = errors.Join(failed, c.delete(ctx, p, nil))
	}
	gone, err := c.goneNodes(ctx, pods, byName)
	failed = errors.Join(failed, err)
	for _, p := range pods {
		if gone[p.Spec.NodeName] {
			failed = errors.Join(failed, c.delete(ctx, p, &corev1.PodCondition{
				Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue,
				Reason: "DeletionByPodGC", Message: "PodGC: node no longer exists",
				ObservedGeneration: podutil.CalculatePodConditionObservedGeneration(&p.Status, p.Generation, corev1.DisruptionTarget),
			}))
		}
	}
	return failed
}

// surplus returns the finished pods above the threshold: first those that were evicted, then the oldest.
func surplus(pods []*corev1.Pod, threshold int) []*corev1.Pod {
	var finished []*corev1.Pod
	for _, p := range pods {
		if p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
			finished = append(finished, p)
		}
	}
	if threshold <= 0 || len(finished) <= threshold {
		return nil
	}
	slices.SortFunc(finished, func(a, b *corev1.Pod) int {
		return cmp.Or(
			cmp.Compare(kept(a), kept(b)),
			a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
			cmp.Compare(a.Name, b.Name),
		)
	})
	return finished[:len(finished)-threshold]
}

func kept(p *corev1.Pod) int {
	if p.Status.Phase == corev1.PodFailed && p.Status.Reason == reasonEvicted {
		return 0
	}
	return 1
}

// unattended returns the pods whose deletion no kubelet completes: pods without a node, and pods of a node that is
// out of service.
func unattended(pods []*corev1.Pod, nodes map[string]*corev1.Node) []*corev1.Pod {
	var found []*corev1.Pod
	for _, p := range pods {
		if p.DeletionTimestamp == nil {
			continue
		}
		n := nodes[p.Spec.NodeName]
		outOfService := n != nil && !nodeutil.IsNodeReady(n) && taints.TaintKeyExists(n.Spec.Taints, corev1.TaintNodeOutOfService)
		if p.Spec.NodeName == "" || outOfService {
			found = append(found, p)
		}
	}
	return found
}

// goneNodes returns the names of nodes that have pods, but have been missing for the time of the quarantine.
func (c *podCollector) goneNodes(ctx context.Context, pods []*corev1.Pod, nodes map[string]*corev1.Node) (map[string]bool, error) {
	missing, now := map[string]time.Time{}, c.now()
	for _, p := range pods {
		name := p.Spec.NodeName
		if name == "" || nodes[name] != nil {
			continue
		}
		missing[name] = now
		if since, ok := c.missing[name]; ok {
			missing[name] = since
		}
	}
	c.missing = missing
	gone := map[string]bool{}
	var failed error
	for name, since := range missing {
		if now.Sub(since) < nodeQuarantine {
			continue
		}
		// The cache may be late.
		_, err := c.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			gone[name] = true
		case err != nil:
			failed = errors.Join(failed, fmt.Errorf("look for the node %s: %w", name, err))
		}
	}
	return gone, failed
}

// delete deletes a pod at once. It marks an unfinished one as failed before, because no kubelet will report that.
func (c *podCollector) delete(ctx context.Context, p *corev1.Pod, why *corev1.PodCondition) error {
	if p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed {
		status := p.Status.DeepCopy()
		status.Phase = corev1.PodFailed
		status.ObservedGeneration = podutil.CalculatePodStatusObservedGeneration(p)
		if why != nil {
			podutil.UpdatePodCondition(status, why)
		}
		if _, _, _, err := pod.PatchPodStatus(ctx, c.client, p.Namespace, p.Name, p.UID, p.Status, *status); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("mark the pod %s/%s as failed: %w", p.Namespace, p.Name, err)
		}
	}
	now := int64(0)
	err := c.client.CoreV1().Pods(p.Namespace).Delete(ctx, p.Name, metav1.DeleteOptions{GracePeriodSeconds: &now, Preconditions: &metav1.Preconditions{UID: &p.UID}})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete the pod %s/%s: %w", p.Namespace, p.Name, err)
	}
	return nil
}
