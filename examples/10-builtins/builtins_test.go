package builtins

import (
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

func TestMain(m *testing.M) { kopftest.Main(m) }

func TestDeleter_DeletesPodAfterDelay(t *testing.T) {
	cluster := kopftest.New(t)
	cluster.Run(func(r *kopf.Registry) { register(r, &podDeleter{delay: 10 * time.Millisecond}) })
	pod := cluster.ApplyFile("obj.yaml")
	pod.WaitGone()
}

func TestDeleter_CancelsForDeletedPod(t *testing.T) {
	cluster := kopftest.New(t)
	operator := cluster.Run(func(r *kopf.Registry) { register(r, &podDeleter{delay: time.Hour}) })
	pod := cluster.ApplyFile("obj.yaml")
	operator.WaitLog("the pod will be deleted handler=appeared in=1h0m0s")
	pod.Delete()
	pod.WaitGone()
	operator.WaitLog("its timer is cancelled")
}

func TestDeleter_DeletesExistingPods(t *testing.T) {
	cluster := kopftest.New(t)
	operator := cluster.Run(func(r *kopf.Registry) { register(r, &podDeleter{delay: time.Hour}) })
	pod := cluster.ApplyFile("obj.yaml")
	operator.WaitHandled(pod)
	operator.Stop()

	again := cluster.Run(func(r *kopf.Registry) { register(r, &podDeleter{delay: time.Millisecond}) })
	again.WaitLog("the pod will be deleted handler=appeared in=1ms")
	pod.WaitGone()
}

func TestDeleter_SurvivesEveryCrash(t *testing.T) {
	plan := kopftest.CrashPlan{Register: func(r *kopf.Registry) { register(r, &podDeleter{delay: time.Millisecond}) }}
	kopftest.EveryCrash(t, plan, func(c *kopftest.Crashing) {
		c.Start()
		c.ApplyFile("obj.yaml").WaitGone()
	})
}
