package leaderelection_test

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kopf-dev/kopf/sdk/internal/testcluster"
	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
	"github.com/kopf-dev/kopf/sdk/leaderelection"
)

// keeper is the operator of a process. It keeps two children of a ServiceAccount, with the number of the parent's latest change.
// Between the children, the replica that the annotation "freeze" names waits for the end of its freeze.
func keeper(o *kopf.Operator, args []string) {
	kind, identity := args[0], args[1]
	leaderelection.Register(o.Registry)
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, syscall.SIGCONT)
	kopf.OnReconcile(o.Registry, kopf.Resource("v1", "serviceaccounts"), func(ctx context.Context, p *kopf.Pass[kopf.Object]) error {
		for _, name := range []string{"x-a", "x-b"} {
			child := &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name},
				"data": map[string]any{"by": identity, "n": kopf.GetOr(p.Object, "metadata.annotations.n", "")},
			}}
			if err := p.Apply(ctx, child); err != nil {
				return err
			}
			if name == "x-a" && kopf.GetOr(p.Object, "metadata.annotations.freeze", "") == identity {
				o.Logger.Debug(called)
				<-continued // whatever the context says
			}
		}
		return nil
	}, kopf.Own{Resource: configMaps}, kopf.Labels{"mine": "yes"})
	scale(o, kind, identity)
}

// A replica is frozen between the two children of a pass until another one has applied both, and runs on: it writes nothing.
func TestFreeze_FrozenInMidPassWritesNothingOnceAnotherActs(t *testing.T) {
	for kind, lost := range lost {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			cluster := kopftest.New(t)
			parent := cluster.Create(map[string]any{
				"apiVersion": "v1", "kind": "ServiceAccount", "metadata": map[string]any{"name": "x", "labels": map[string]any{"mine": "yes"}},
			})
			children := []*kopftest.Object{cluster.Object("configmaps", "x-a"), cluster.Object("configmaps", "x-b")}
			versions := testcluster.Versions(t, cluster.Namespace, "x-b")
			a := cluster.StartProcess("keeper", kind, "a")
			children[1].WaitValue("data.by", "a")
			b := cluster.StartProcess("keeper", kind, "b")
			n := testcluster.Freezes(t, 3)
			identities := []string{"a", "b"}
			for acting, other, i := a, b, 0; i < n; acting, other, i = other, acting, i+1 {
				mark := acting.LogMark()
				parent.Patch(map[string]any{"metadata": map[string]any{"annotations": map[string]any{"n": fmt.Sprint(i), "freeze": identities[i%2]}}})
				acting.WaitLogSince(mark, called)
				acting.Freeze()
				var before []any
				for _, child := range children {
					o := child.WaitFor("the other replica has applied it", func(o *kopf.Object) bool {
						return o.Get("data.by") == identities[(i+1)%2] && o.Get("data.n") == fmt.Sprint(i)
					})
					before = append(before, o.Get("metadata.resourceVersion"))
				}
				mark = acting.LogMark()
				acting.Continue()
				acting.WaitLogSince(mark, lost)
				for j, child := range children {
					if now := child.Get().Get("metadata.resourceVersion"); now != before[j] {
						t.Errorf("freeze %d: the frozen replica has changed %s", i, child)
					}
				}
			}
			var terms []term // each change has a term of one replica, and then a term of the other one
			for _, data := range versions() {
				terms = append(terms, term{data["by"] + " " + data["n"], 0})
			}
			if again := repeated(terms); again > 0 {
				t.Errorf("%d writes by replicas that had lost the lease: %v", again, terms)
			}
			for _, p := range []*kopftest.Process{a, b} {
				if p.CountLog("Took a field") > 0 {
					t.Error("a replica has taken a field back")
				}
			}
		})
	}
}
