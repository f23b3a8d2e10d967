package node

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func pod(change func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "u", Generation: 3},
		Spec: corev1.PodSpec{
			SchedulerName: corev1.DefaultSchedulerName,
			RestartPolicy: corev1.RestartPolicyAlways,
			Containers:    []corev1.Container{{Name: "main", Image: "nginx"}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodPending},
	}
	change(p)
	return p
}

func TestNext_DependsOnPod(t *testing.T) {
	now, grace, none := metav1.Now(), int64(30), int64(0)
	for _, test := range []struct {
		title  string
		change func(*corev1.Pod)
		want   step
	}{
		{"a new one is bound", func(*corev1.Pod) {}, bind},
		{"a gated one waits", func(p *corev1.Pod) { p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "g"}} }, nothing},
		{"one of another scheduler waits", func(p *corev1.Pod) { p.Spec.SchedulerName = "mine" }, nothing},
		{"a bound one is reported", func(p *corev1.Pod) { p.Spec.NodeName = Name }, report},
		{"one of another node is left alone", func(p *corev1.Pod) { p.Spec.NodeName = "other" }, nothing},
		{"a running one stays as it is", func(p *corev1.Pod) { p.Spec.NodeName, p.Status.Phase = Name, corev1.PodRunning }, nothing},
		{"a deletion is finished", func(p *corev1.Pod) {
			p.Spec.NodeName, p.DeletionTimestamp, p.DeletionGracePeriodSeconds = Name, &now, &grace
		}, finish},
		{"a deletion on a node that is gone is finished", func(p *corev1.Pod) {
			p.Spec.NodeName, p.DeletionTimestamp, p.DeletionGracePeriodSeconds = "gone", &now, &grace
		}, finish},
		{"a deletion that waits for finalizers is finished already", func(p *corev1.Pod) {
			p.Spec.NodeName, p.DeletionTimestamp, p.DeletionGracePeriodSeconds = Name, &now, &none
		}, nothing},
		{"one that is deleted before it was bound is not bound", func(p *corev1.Pod) { p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &now, &none }, nothing},
	} {
		if got := next(pod(test.change)); got != test.want {
			t.Errorf("%s: %v", test.title, got)
		}
	}
}

func condition(s corev1.PodStatus, kind corev1.PodConditionType) corev1.ConditionStatus {
	for _, c := range s.Conditions {
		if c.Type == kind {
			return c.Status
		}
	}
	return ""
}

func TestStatus_RestartedPodRuns(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	p := pod(func(p *corev1.Pod) {
		p.Spec.InitContainers = []corev1.Container{{Name: "init"}, {Name: "sidecar", RestartPolicy: &always}}
		p.Status.Conditions = []corev1.PodCondition{{Type: "example.com/gate", Status: corev1.ConditionTrue}, {Type: corev1.PodReady, Status: corev1.ConditionFalse}}
	})
	s := status(p, "10.244.0.1", metav1.NewTime(time.Unix(1, 0)))
	if s.Phase != corev1.PodRunning || s.PodIP != "10.244.0.1" || s.ObservedGeneration != 3 || !s.ContainerStatuses[0].Ready || s.ContainerStatuses[0].State.Running == nil {
		t.Errorf("got %+v", s)
	}
	if s.InitContainerStatuses[0].State.Terminated == nil || s.InitContainerStatuses[1].State.Running == nil {
		t.Errorf("its first containers are %+v", s.InitContainerStatuses)
	}
	if condition(s, corev1.PodReady) != corev1.ConditionTrue || condition(s, "example.com/gate") != corev1.ConditionTrue || len(s.Conditions) != 6 {
		t.Errorf("its conditions are %+v", s.Conditions)
	}
	if len(p.Status.Conditions) != 2 {
		t.Error("the pod of the cache was changed")
	}
}

func TestStatus_UnrestartedPodCompletes(t *testing.T) {
	for _, policy := range []corev1.RestartPolicy{corev1.RestartPolicyNever, corev1.RestartPolicyOnFailure} {
		s := status(pod(func(p *corev1.Pod) { p.Spec.RestartPolicy = policy }), "10.244.0.1", metav1.Now())
		if s.Phase != corev1.PodSucceeded || s.ContainerStatuses[0].State.Terminated == nil || condition(s, corev1.PodReady) != corev1.ConditionFalse {
			t.Errorf("%s: got %+v", policy, s)
		}
	}
}
