package kopftest

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

func TestOperator_WaitPassAndCheckIdle(t *testing.T) {
	t.Parallel()
	cluster := New(t)
	cluster.Apply(widgetsCRD)
	var calls atomic.Int32
	operator := cluster.Run(func(r *kopf.Registry) {
		kopf.OnReconcile(r, kopf.Resource("kopftest.kopf.dev/v1", "widgets"), func(ctx context.Context, p *kopf.Pass[kopf.Object]) error {
			call := strconv.Itoa(int(calls.Add(1)))
			mode := kopf.GetOr(p.Object, "spec.mode", "")
			config := &corev1.ConfigMap{Data: map[string]string{"size": "1"}}
			if mode == "text" {
				config.Data["call"] = call
			}
			if mode == "patch" {
				p.Patch.Set("status.call", call)
			}
			if err := p.Apply(ctx, config); err != nil {
				return err
			}
			switch mode {
			case "wait":
				return kopf.Waitf(0, "wait for the test")
			case "fail":
				return kopf.Permanentf("fail for the test")
			}
			return nil
		}, kopf.Own{Resource: kopf.Resource("v1", "configmaps")})
	})
	one := cluster.Apply(widget)
	if pass := operator.WaitPass(one, inspect.PassComplete); pass.Applied != 1 {
		t.Errorf("the first pass is %+v", pass)
	}
	operator.CheckIdle(one)
	one.Set("spec.mode", "wait")
	if pass := operator.WaitPass(one, inspect.PassWaiting); pass.Message != "wait for the test" || pass.Wakes[0].Kind != inspect.WakeObject {
		t.Errorf("the waiting pass is %+v", pass)
	}
	operator.CheckIdle(one)
	one.Set("spec.mode", "wait-no-longer")
	operator.WaitPass(one, inspect.PassComplete)
	for mode, want := range map[string]string{
		"text":  "a pass has changed 1 of 1 applied children, and pruned 0 (ConfigMap one: changed)",
		"patch": "the object has changed: status.call",
		"fail":  "a pass is failed: fail for the test",
	} {
		one.Set("spec.mode", mode)
		wantAll(t, failureOf(t, func(d testing.TB) {
			op := *operator
			op.cluster = cluster.With(d)
			op.CheckIdle(one)
		}), "does not come to rest", want)
	}
}

func TestCheckIdle_NeedsPasses(t *testing.T) {
	t.Parallel()
	cluster := New(t)
	cluster.Apply(widgetsCRD)
	operator := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, widgets, func(context.Context, *request) error { return nil }, kopf.ID("create"))
	})
	one := cluster.Apply(widget)
	wantAll(t, failureOf(t, func(d testing.TB) {
		op := *operator
		op.cluster = cluster.With(d)
		op.CheckIdle(one)
	}), "has no OnReconcile handler")
}
