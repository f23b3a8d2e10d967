package e2e

import (
	"context"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

// childView is an operator whose children are seen through its inspector.
type childView struct {
	*keeper
	ref inspect.Ref
}

// children returns the children, by their kinds and names.
func (s *childView) children() map[string]inspect.Child {
	s.t.Helper()
	list, err := s.Inspector().Children(s.t.Context(), s.ref)
	if err != nil {
		s.t.Fatal(err)
	}
	all := map[string]inspect.Child{}
	for _, c := range list.Children {
		if c.Parent != s.ref {
			s.t.Errorf("%s is a child of %+v", c.Name, c.Parent)
		}
		all[c.Kind+" "+c.Name] = c
	}
	return all
}

// wait waits until the inspector shows a state of the parent.
func (s *childView) wait(what string, holds func(counts inspect.ChildCounts, p *inspect.Pass) bool) *inspect.Object {
	s.t.Helper()
	var found *inspect.Object
	s.WaitInspect(what, func(state *inspect.Snapshot) bool {
		for _, o := range state.Objects {
			if o.Ref == s.ref && o.Pass != nil && holds(*o.Children, o.Pass) {
				found = o
			}
		}
		return found != nil
	})
	return found
}

func TestChildren_InspectorShowsThem(t *testing.T) {
	k := &keeper{t: t, Cluster: newCluster(t)}
	k.own = ownResource(k.Cluster)
	configMap := func(name string) metav1.Object {
		return &unstructured.Unstructured{Object: tree{"apiVersion": "v1", "kind": "ConfigMap", "metadata": tree{"name": name}}}
	}
	k.reconcile(owning("v1 configmaps", "kopf.dev/v1 kopfexamples"), func(ctx context.Context, p *kopf.Pass[kopf.Object]) error {
		shop := &unstructured.Unstructured{Object: kex.of(tree{"metadata": tree{"name": "main"}, "spec": tree{"image": "nginx"}})}
		all := []metav1.Object{shop}
		for _, name := range kopf.GetOr(p.Object, "spec.names", []any{}) {
			all = append(all, configMap(name.(string)))
		}
		if err := p.Apply(ctx, all...); err != nil {
			return err
		}
		return p.WaitReady(all...)
	})
	k.parent = k.Create(k.own.of(tree{"metadata": tree{"name": "main"}, "spec": tree{"names": []any{"extra"}}}))
	s := &childView{k, refOf(k.Operator, "main")}

	o := s.wait("the first pass waits", func(counts inspect.ChildCounts, _ *inspect.Pass) bool { return counts.Total == 2 })
	if p := o.Pass; p.Outcome != inspect.PassWaiting || !strings.Contains(p.Message, "KopfExample main") || p.Applied != 2 || p.Wakes[0].Kind != inspect.WakeObject {
		t.Errorf("the pass: %+v", p)
	}
	if c := s.children()["KopfExample main"]; c.State != inspect.ChildUnknown || c.Result != inspect.ResultCreated || c.Since.IsZero() || !strings.HasPrefix(c.Applied, "1:") {
		t.Errorf("the created child: %+v", c)
	}
	if c := s.children()["ConfigMap extra"]; c.State != inspect.ChildReady || c.Resource != "configmaps.v1" || c.Namespace != k.Namespace || c.UID == "" {
		t.Errorf("the created child: %+v", c)
	}

	shop := k.Object(kex.name(), "main")
	report := func(status, reason string) {
		shop.Patch(tree{"status": tree{"conditions": []any{tree{"type": "Ready", "status": status, "reason": "Rollout", "message": reason}}}})
	}
	report("False", "1 of 3 are up")
	s.wait("the child progresses", func(inspect.ChildCounts, *inspect.Pass) bool {
		c := s.children()["KopfExample main"]
		return c.State == inspect.ChildProgressing && strings.Contains(c.Message, "1 of 3 are up")
	})
	report("True", "")
	o = s.wait("all children are ready", func(counts inspect.ChildCounts, p *inspect.Pass) bool {
		return counts.Ready == 2 && p.Outcome == inspect.PassComplete
	})
	if w := o.Pass.Wakes[0]; w.Kind != inspect.WakeChild || w.Type != "MODIFIED" || w.Object.Name != "main" || len(w.Changes) == 0 || w.Changes[0].Path != "status.conditions.Ready" {
		t.Errorf("the reason for the pass: %+v", w)
	}
	if c := s.children()["KopfExample main"]; c.State != inspect.ChildReady || c.Result != inspect.ResultUnchanged {
		t.Errorf("the ready child: %+v", c)
	}

	if n := k.CountLog("KopfExample main is ready"); n != 1 || k.CountLog("extra is ready") > 0 {
		t.Errorf("%d lines about a child that is ready:\n%s", n, k.Log())
	}

	d := edit(k, edited{version: "kopf.dev/v1", plural: "kopfexamples"}, "KopfExample")
	d.merge(tree{"spec": tree{"image": "evil"}})
	shop.WaitValue("spec.image", "nginx")
	s.wait("the drift is shown", func(inspect.ChildCounts, *inspect.Pass) bool { return len(s.children()["KopfExample main"].Drift) == 1 })
	if drift := s.children()["KopfExample main"].Drift[0]; drift.Path != "spec.image" || drift.Manager != "other" || drift.Outcome != inspect.DriftReverted || drift.Count != 1 {
		t.Errorf("%+v", drift)
	}

	k.Create(tree{"apiVersion": "v1", "kind": "ConfigMap", "metadata": tree{"name": "foreign"}})
	k.parent.Set("spec.names", []any{"foreign"})
	o = s.wait("a child is refused", func(_ inspect.ChildCounts, p *inspect.Pass) bool { return p.Outcome == inspect.PassFailed })
	if counts := *o.Children; counts != (inspect.ChildCounts{Ready: 2, Total: 3}) || o.Pass.Refused != 1 {
		t.Errorf("%+v, %+v", counts, o.Pass)
	}
	if c := s.children()["ConfigMap foreign"]; c.Result != inspect.ResultRefused || c.State != "" || !strings.Contains(c.Error, "was not made for this object") {
		t.Errorf("the refused child: %+v", c)
	}
	if err := k.Inspector().Do(t.Context(), inspect.Intent{Kind: inspect.IntentRetryFailed}); err != nil {
		t.Fatal(err)
	}
	s.wait("a person asks for another pass", func(_ inspect.ChildCounts, p *inspect.Pass) bool {
		return p.Outcome == inspect.PassFailed && p.Wakes[0].Kind == inspect.WakeRequest
	})
	k.parent.Set("spec.names", []any{})
	s.wait("a child is pruned", func(counts inspect.ChildCounts, _ *inspect.Pass) bool {
		c := s.children()["ConfigMap extra"]
		return counts.Total == 1 && c.Result == inspect.ResultPruned && !c.Since.IsZero() // the end of the deletion may cause another pass
	})
}

func TestChildren_InspectorShowsFieldsOfScalers(t *testing.T) {
	k := keep(t, tree{}, owning("apps/v1 deployments"), func(*kopf.Pass[kopf.Object]) []tree {
		return []tree{deployment(tree{"replicas": 0})}
	})
	s := &childView{k, refOf(k.Operator, "main")}
	d := edit(k, edited{version: "apps/v1", plural: "deployments"}, "Deployment")
	d.request(http.MethodPatch, "/scale", "application/merge-patch+json", tree{"spec": tree{"replicas": 1}})
	s.wait("the field is left to its owner", func(inspect.ChildCounts, *inspect.Pass) bool {
		drift := s.children()["Deployment main"].Drift
		return len(drift) == 1 && drift[0].Scale && drift[0].Outcome == inspect.DriftYielded && drift[0].Path == "spec.replicas"
	})
	if c := s.children()["Deployment main"]; c.Result != inspect.ResultYielded {
		t.Errorf("%+v", c)
	}
}

func TestChildren_InspectorShowsOrphans(t *testing.T) {
	k := keep(t, tree{}, []kopf.Own{{Resource: kopf.Resource("v1", "configmaps"), Keep: true}}, func(*kopf.Pass[kopf.Object]) []tree {
		return []tree{{"apiVersion": "v1", "kind": "ConfigMap", "data": tree{"a": "1"}}}
	})
	uid, _ := k.parent.Get().Get("metadata.uid").(string)
	k.parent.Delete()
	k.parent.WaitGone()
	k.WaitInspect("the child has no parent", func(*inspect.Snapshot) bool {
		list, err := k.Inspector().Children(t.Context(), inspect.Ref{})
		if err != nil {
			t.Fatal(err)
		}
		return len(list.Children) == 1 && list.Children[0].Parent == inspect.Ref{Resource: k.own.key(), UID: uid}
	})
}
