package node

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"
)

// register creates the node, or updates the one of the last start.
func register(ctx context.Context, client kubernetes.Interface, version, arch string) error {
	nodes := client.CoreV1().Nodes()
	_, err := nodes.Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: Name}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create the node: %w", err)
	}
	if err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		n, err := nodes.Get(ctx, Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		n.Labels = labels(n.Labels, arch)
		// New nodes are tainted as not ready until a controller, which does not run here, removes it.
		n.Spec.Taints = nil
		n, err = nodes.Update(ctx, n, metav1.UpdateOptions{})
		if err != nil {
			return err
		}
		n.Status = nodeStatus(version, arch, metav1.Now())
		_, err = nodes.UpdateStatus(ctx, n, metav1.UpdateOptions{})
		return err
	}); err != nil {
		return fmt.Errorf("report the node: %w", err)
	}
	return nil
}

// labels adds the standard labels and keeps those of users.
func labels(have map[string]string, arch string) map[string]string {
	if have == nil {
		have = map[string]string{}
	}
	have[corev1.LabelHostname] = Name
	have[corev1.LabelOSStable] = "linux"
	have[corev1.LabelArchStable] = arch
	have["kopf.dev/simulated"] = "true"
	return have
}

func nodeStatus(version, arch string, now metav1.Time) corev1.NodeStatus {
	capacity := corev1.ResourceList{
		corev1.ResourceCPU:              resource.MustParse("64"),
		corev1.ResourceMemory:           resource.MustParse("256Gi"),
		corev1.ResourceEphemeralStorage: resource.MustParse("1Ti"),
		corev1.ResourcePods:             resource.MustParse("10k"),
	}
	return corev1.NodeStatus{
		Capacity: capacity, Allocatable: capacity,
		Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: hostIP}, {Type: corev1.NodeHostName, Address: Name}},
		NodeInfo: corev1.NodeSystemInfo{
			KubeletVersion: version, OperatingSystem: "linux", Architecture: arch,
			OSImage: "simulated", ContainerRuntimeVersion: "simulated://1",
		},
		Conditions: []corev1.NodeCondition{{
			Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "Simulated",
			Message: "pods become Running or Completed without any container", LastHeartbeatTime: now, LastTransitionTime: now,
		}},
	}
}
