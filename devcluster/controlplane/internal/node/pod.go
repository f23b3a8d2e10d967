package node

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// step is the next step for a pod.
type step int

const (
	nothing step = iota
	bind         // bind it to this node
	report       // report its containers
	finish       // complete its deletion
)

// next returns the next step for a pod.
func next(p *corev1.Pod) step {
	switch {
	case p.DeletionTimestamp != nil:
		// This also completes the deletion of pods of other nodes, which have no kubelet. Without
		// a grace period left, the pod waits for its finalizers only.
		if p.DeletionGracePeriodSeconds == nil || *p.DeletionGracePeriodSeconds > 0 {
			return finish
		}
	case p.Spec.NodeName == "":
		if len(p.Spec.SchedulingGates) == 0 && p.Spec.SchedulerName == corev1.DefaultSchedulerName {
			return bind
		}
	case p.Spec.NodeName == Name && p.Status.Phase == corev1.PodPending:
		return report
	}
	return nothing
}

// status returns the status of a pod whose containers are running or have completed.
func status(p *corev1.Pod, ip string, now metav1.Time) corev1.PodStatus {
	completed := p.Spec.RestartPolicy != corev1.RestartPolicyAlways
	s := *p.Status.DeepCopy()
	s.Phase = corev1.PodRunning
	if completed {
		s.Phase = corev1.PodSucceeded
	}
	s.ObservedGeneration = p.Generation
	s.StartTime = &now
	s.HostIP, s.HostIPs = hostIP, []corev1.HostIP{{IP: hostIP}}
	s.PodIP, s.PodIPs = ip, []corev1.PodIP{{IP: ip}}
	s.InitContainerStatuses = nil
	for _, c := range p.Spec.InitContainers {
		sidecar := c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
		s.InitContainerStatuses = append(s.InitContainerStatuses, containerStatus(c, completed || !sidecar, now))
	}
	s.ContainerStatuses = nil
	for _, c := range p.Spec.Containers {
		s.ContainerStatuses = append(s.ContainerStatuses, containerStatus(c, completed, now))
	}
	s.Conditions = conditions(p, completed, now)
	return s
}

func containerStatus(c corev1.Container, completed bool, now metav1.Time) corev1.ContainerStatus {
	running := !completed
	s := corev1.ContainerStatus{
		Name: c.Name, Image: c.Image, ImageID: c.Image, ContainerID: "simulated://" + c.Name,
		Ready: running, Started: &running,
	}
	if completed {
		s.State.Terminated = &corev1.ContainerStateTerminated{Reason: "Completed", StartedAt: now, FinishedAt: now, ContainerID: s.ContainerID}
	} else {
		s.State.Running = &corev1.ContainerStateRunning{StartedAt: now}
	}
	return s
}

// conditions sets the standard conditions and keeps others, such as readiness gates.
func conditions(p *corev1.Pod, completed bool, now metav1.Time) []corev1.PodCondition {
	ready, reason := corev1.ConditionTrue, ""
	if completed {
		ready, reason = corev1.ConditionFalse, "PodCompleted"
	}
	own := []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionTrue},
		{Type: corev1.PodReadyToStartContainers, Status: ready, Reason: reason},
		{Type: corev1.PodInitialized, Status: corev1.ConditionTrue},
		{Type: corev1.ContainersReady, Status: ready, Reason: reason},
		{Type: corev1.PodReady, Status: ready, Reason: reason},
	}
	owned := map[corev1.PodConditionType]bool{}
	for i := range own {
		own[i].LastTransitionTime, own[i].ObservedGeneration = now, p.Generation
		owned[own[i].Type] = true
	}
	for _, c := range p.Status.Conditions {
		if !owned[c.Type] {
			own = append(own, c)
		}
	}
	return own
}
