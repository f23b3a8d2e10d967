package e2e

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

// ConfigMap is an API type.
type ConfigMap struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
}

// DeepCopyObject implements [runtime.Object].
func (c *ConfigMap) DeepCopyObject() runtime.Object { return new(*c) }

func TestHandler_TypeOfAnotherKindIsWarnedOf(t *testing.T) {
	cluster := newCluster(t)
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, func(context.Context, *kopf.Change[ConfigMap]) error { return nil }, kopf.ID("create"))
	})
	op.WaitLog("is for kopfexamples.v1.kopf.dev, but its Go type belongs to another kind, ConfigMap; register it for configmaps.v1, or change the type")
}
