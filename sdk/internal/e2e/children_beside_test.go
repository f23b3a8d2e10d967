package e2e

import (
	"context"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

func TestChildren_PassHoldsNoCauseAndRecordsOnlyRetries(t *testing.T) {
	cluster := newCluster(t)
	own := ownResource(cluster)
	var outcome atomic.Pointer[error]
	next := func(err error) { outcome.Store(&err) }
	next(kopf.Waitf(0, "the bucket does not exist yet"))
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, own.selector(), func(context.Context, *change) error { return nil }, kopf.ID("created"))
		kopf.OnReconcile(r, own.selector(), func(context.Context, *kopf.Pass[kopf.Object]) error { return *outcome.Load() })
	})
	parent := cluster.Create(own.of(tree{"metadata": tree{"name": "x"}, "spec": tree{"field": "0"}}))
	op.WaitLog("Handler 'reconcile' waits: the bucket does not exist yet")
	handled := parent.WaitFor("the creation is handled", func(o *kopf.Object) bool {
		annotations, _ := o.Get("metadata.annotations").(tree)
		return annotations[lastHandled] != nil
	})
	if annotations, _ := handled.Get("metadata.annotations").(tree); len(annotations) != 1 {
		t.Errorf("the waiting pass has left a record: %v", annotations)
	}

	next(kopf.Temporaryf(0, "not now"))
	parent.Set("spec.field", "1")
	record := parent.WaitFor("the retry is recorded", func(o *kopf.Object) bool {
		annotations, _ := o.Get("metadata.annotations").(tree)
		return annotations["kopf.zalando.org/reconcile"] != nil
	})
	annotations, _ := record.Get("metadata.annotations").(tree)
	if got := progressOf(annotations, "kopf.zalando.org/reconcile"); got["purpose"] != nil || got["message"] != "not now" {
		t.Errorf("the record is %v", got)
	}
	next(nil)
	parent.WaitFor("the record is purged", func(o *kopf.Object) bool {
		annotations, _ := o.Get("metadata.annotations").(tree)
		return annotations["kopf.zalando.org/reconcile"] == nil
	})
}

func TestChildren_PausedInMidPassWritesNothing(t *testing.T) {
	cluster := newCluster(t)
	own := ownResource(cluster)
	begun, proceed := make(chan struct{}, 1), make(chan struct{})
	child := func(name string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: tree{"apiVersion": "v1", "kind": "ConfigMap", "metadata": tree{"name": name}}}
	}
	refused := make(chan error, 1)
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnReconcile(r, own.selector(), func(ctx context.Context, p *kopf.Pass[kopf.Object]) error {
			if err := p.Apply(ctx, child("first")); err != nil {
				return err
			}
			select {
			case begun <- struct{}{}:
			default:
			}
			<-proceed
			err := p.Apply(context.WithoutCancel(ctx), child("second"))
			if err != nil {
				refused <- err
			}
			return err
		}, kopf.Own{Resource: kopf.Resource("v1", "configmaps")})
	})
	cluster.Create(own.of(tree{"metadata": tree{"name": "x"}}))
	receive(cluster, "the pass has applied its first child", begun)
	op.Pause()
	close(proceed)
	if err := receive(cluster, "the second child is refused", refused); err == nil {
		t.Error("the paused operator has applied a child")
	}
	if cluster.Object("configmaps", "second").Exists() {
		t.Error("the paused operator has created a child")
	}
	op.Resume()
	cluster.Object("configmaps", "second").WaitFor("it exists", func(o *kopf.Object) bool { return o != nil })
}
