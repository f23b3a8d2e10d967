package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

// keepJob runs an operator that owns a job with the image of its parent. The template of a job is immutable.
func keepJob(t *testing.T, recreate metav1.DeletionPropagation, configure ...func(*kopf.Operator)) (*keeper, *kopftest.Object) {
	t.Helper()
	own := owning("batch/v1 jobs")
	own[0].Recreate = recreate
	k := keep(t, tree{"image": "v0"}, own, func(p *kopf.Pass[kopf.Object]) []tree {
		return []tree{{"apiVersion": "batch/v1", "kind": "Job", "spec": tree{
			"suspend": true,
			"template": tree{"spec": tree{
				"restartPolicy": kopf.GetOr(p.Object, "spec.restart", "Never"),
				"containers":    []any{tree{"name": "main", "image": kopf.GetOr(p.Object, "spec.image", "")}},
			}},
		}}}
	}, configure...)
	return k, k.Object("jobs", "main")
}

func TestChildren_ImmutableFieldIsAPermanentErrorWithTheMend(t *testing.T) {
	k, job := keepJob(t, "")
	before := job.Get().Get("metadata.uid")
	mark := k.LogMark()
	k.parent.Set("spec.image", "v1")
	k.WaitLogSince(mark, "set kopf.Own.Recreate")
	if job.Get().Get("metadata.uid") != before {
		t.Error("the job was created anew")
	}
	k.parent.Set("spec.image", "v0")
	k.settle(k.parent)
	k.checkIdle()
}

func TestChildren_ImmutableFieldIsChangedByRecreation(t *testing.T) {
	for _, propagation := range []metav1.DeletionPropagation{
		metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan,
	} {
		t.Run(string(propagation), func(t *testing.T) {
			k, job := keepJob(t, propagation)
			before := job.Get().Get("metadata.uid")
			k.parent.Set("spec.image", "v1")
			after := job.WaitValue("spec.template.spec.containers[0].image", "v1")
			if after.Get("metadata.uid") == before {
				t.Error("the immutable field was changed in place")
			}
			k.settle(k.parent)
			if n := k.CountLog("to create it anew"); n < 1 {
				t.Error("the log does not say that the job was created anew")
			}
			k.checkIdle()
		})
	}
}

func TestChildren_RepeatedRecreationBacksOff(t *testing.T) {
	const free = 3 // recreations within a minute
	var mu sync.Mutex
	var deleted []time.Time
	k, job := keepJob(t, metav1.DeletePropagationBackground, transport(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(req *http.Request) (*http.Response, error) {
			if req.Method == http.MethodDelete {
				mu.Lock()
				deleted = append(deleted, time.Now())
				mu.Unlock()
			}
			return next.RoundTrip(req)
		})
	}))
	for i := range free + 1 {
		image := fmt.Sprint("v", i+1)
		k.parent.Set("spec.image", image)
		job.WaitValue("spec.template.spec.containers[0].image", image)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(deleted) != free+1 {
		t.Fatalf("%d jobs were deleted, want %d:\n%s", len(deleted), free+1, k.Log())
	}
	if pause := deleted[free].Sub(deleted[free-1]); pause < time.Second {
		t.Errorf("a job was deleted %s after the one before, want the first delay of 1s in between:\n%s", pause, k.Log())
	}
}

func TestChildren_InvalidChildIsNotDeletedForRecreation(t *testing.T) {
	k, job := keepJob(t, metav1.DeletePropagationBackground)
	before := job.Get().Get("metadata.uid")
	mark := k.LogMark()
	k.parent.Set("spec.restart", "Always") // jobs never accept it
	k.WaitLogSince(mark, "Handler 'reconcile' failed permanently")
	if got := job.Get(); got.Get("metadata.uid") != before || got.Get("metadata.deletionTimestamp") != nil {
		t.Error("the job was deleted although the API server does not accept the new one")
	}
	k.parent.Remove("spec.restart")
	k.settle(k.parent)
	k.checkIdle()
	for _, request := range k.written() {
		if strings.HasPrefix(request, "DELETE") {
			t.Errorf("the operator has sent %q", request)
		}
	}
}

func TestChildren_RecreationByABadReleaseIsBraked(t *testing.T) {
	const parents, allowed = 14, 10
	var release atomic.Pointer[string]
	release.Store(new("v0"))
	own := owning("v1 configmaps")
	own[0].Recreate = metav1.DeletePropagationBackground
	k := keep(t, tree{}, own, func(*kopf.Pass[kopf.Object]) []tree {
		return []tree{{"apiVersion": "v1", "kind": "ConfigMap", "immutable": true, "data": tree{"release": *release.Load()}}}
	})
	for i := range parents - 1 {
		k.Create(k.own.of(tree{"metadata": tree{"name": fmt.Sprint("x", i)}}))
	}
	for _, name := range append([]string{"main"}, names("x", parents-1)...) {
		k.Object("configmaps", name).WaitValue("data.release", "v0")
	}
	k.Stop()
	release.Store(new("v1"))
	mark := k.LogMark()
	k.Start()
	k.WaitLogSince(mark, "Stopped the deletion of configmaps")
	k.WaitUntil("each parent had its pass", func() bool {
		return k.CountLogSince(mark, "Handler 'reconcile' succeeded.") >= allowed &&
			k.CountLogSince(mark, "but deletions of its kind are stopped") >= parents-allowed
	})
	if n := k.CountLogSince(mark, "to create it anew"); n != allowed {
		t.Errorf("%d children were deleted, want %d", n, allowed)
	}
	left := 0
	for _, name := range append([]string{"main"}, names("x", parents-1)...) {
		if k.Object("configmaps", name).Get().Get("data.release") == "v0" {
			left++
		}
	}
	if left != parents-allowed {
		t.Errorf("%d children are as before, want %d", left, parents-allowed)
	}
}

// names returns a prefix with the numbers from 0.
func names(prefix string, n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprint(prefix, i))
	}
	return all
}
