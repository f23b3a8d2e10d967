package kopftest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

// shop has the fields of the parent in the tests of passes.
type shop struct {
	Spec struct {
		Image string `json:"image"`
		Host  string `json:"host"`
	} `json:"spec"`
}

var (
	shopDeployments = kopf.Resource("apps/v1", "deployments")
	shopSecrets     = kopf.Resource("v1", "secrets")
)

func registerShop(r *kopf.Registry) {
	kopf.OnReconcile(r, kopf.Resource("example.com/v1", "shops"), reconcileShop,
		kopf.Own{Resource: shopSecrets, Once: []kopf.Path{"data"}},
		kopf.Own{Resource: shopDeployments, Observe: []kopf.Path{"status.readyReplicas"}, ReadyWithin: time.Hour},
		kopf.Own{Resource: kopf.Resource("example.com/v1", "gateways")},
		kopf.Own{Resource: kopf.Resource("v1", "persistentvolumeclaims")})
}

func reconcileShop(ctx context.Context, p *kopf.Pass[shop]) error {
	secret := &corev1.Secret{StringData: map[string]string{"password": "new"}}
	deployment := &appsv1.Deployment{}
	deployment.Spec.Template.Spec.Containers = []corev1.Container{{Name: "web", Image: p.Object.Spec.Image}}
	if err := p.Apply(ctx, secret, deployment); err != nil {
		return err
	}
	for d := range p.Children(shopDeployments) {
		p.Patch.Set("status.ready", kopf.GetOr(d.Observed, "status.readyReplicas", 0))
	}
	if err := p.WaitReady(secret, deployment); err != nil {
		return err
	}
	if p.Object.Spec.Host == "" {
		return nil
	}
	p.Recheck(time.Hour)
	return p.Apply(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Gateway", "spec": map[string]any{"host": p.Object.Spec.Host},
	}})
}

func TestPass_RecordsAppliedChildren(t *testing.T) {
	p := Pass[shop](t, registerShop, "spec: {image: nginx}")
	if p.Name != "demo" || p.Namespace != "default" || p.Resource.Kind != "shop" || p.Resource.Group != "example.com" {
		t.Errorf("the request is for %+v", p.Request)
	}
	got := Passed(t, p, reconcileShop(t.Context(), p))
	if diff := cmp.Diff([]string{"Secret demo", "Deployment demo"}, got.Applied); diff != "" {
		t.Error(diff)
	}
	if got.Outcome != PassWaits || !strings.Contains(got.Err.Error(), "Deployment demo") || got.Pruned != nil || got.Next != 0 {
		t.Errorf("%s in %s, pruned %v: %v", got.Outcome, got.Next, got.Pruned, got.Err)
	}
	want := map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "demo", "namespace": "default"},
		"data": map[string]any{"password": "bmV3"},
	}
	if diff := cmp.Diff(want, got.Object("Secret demo").Get("")); diff != "" {
		t.Error(diff)
	}
	if image := got.Object("Deployment demo").Get("spec.template.spec.containers[0].image"); image != "nginx" {
		t.Error(image)
	}
}

func TestPass_KnowsExistingChildren(t *testing.T) {
	existing := []Child{
		{Kind: "Secret"},
		{Kind: "Secret", Name: "old"},
		{Kind: "Deployment", Object: "status: {readyReplicas: 2}"},
		{Kind: "Gateway", Name: "old"},
		{Kind: "PersistentVolumeClaim", Name: "old"},
	}
	p := Pass[shop](t, registerShop, "spec: {host: a.example.com}", existing...)
	got := Passed(t, p, reconcileShop(t.Context(), p))
	if diff := cmp.Diff([]string{"Secret demo", "Deployment demo", "Gateway demo"}, got.Applied); diff != "" {
		t.Error(diff)
	}
	if got.Outcome != PassComplete || got.Next != time.Hour {
		t.Errorf("%s in %s", got.Outcome, got.Next)
	}
	if diff := cmp.Diff([]string{"Gateway old", "Secret old"}, got.Pruned); diff != "" { // in the reverse order of the declarations
		t.Error(diff)
	}
	if data := got.Object("Secret demo").Get("data"); data != nil {
		t.Errorf("the data of the existing secret are applied again: %v", data)
	}
	if ready := Patched(t, p.Patch).Get("status.ready"); ready != int64(2) {
		t.Error(ready)
	}
}

func TestPass_ChildStatesDecideWaits(t *testing.T) {
	for _, state := range []kopf.ChildState{kopf.ChildUnknown, kopf.ChildProgressing, kopf.ChildFailed, kopf.ChildTerminating} {
		p := Pass[shop](t, registerShop, "spec: {}", Child{Kind: "Deployment", State: state}, Child{Kind: "Gateway"})
		got := Passed(t, p, reconcileShop(t.Context(), p))
		if got.Outcome != PassWaits || got.Pruned != nil {
			t.Errorf("%s: %s, pruned %v", state, got.Outcome, got.Pruned)
		}
	}
}

func TestPass_ChecksChildrenAsOperator(t *testing.T) {
	for want, objs := range map[string][]metav1.Object{
		"the kind is not declared":   {&corev1.ConfigMap{}},
		"two objects have this name": {&corev1.Secret{}, &corev1.Secret{}},
		"metadata.generateName":      {&corev1.Secret{ObjectMeta: metav1.ObjectMeta{GenerateName: "a-"}}},
		"it is in namespace other":   {&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "other"}}},
	} {
		p := Pass[shop](t, registerShop, "spec: {}", Child{Kind: "Deployment"})
		got := Passed(t, p, p.Apply(t.Context(), objs...))
		if got.Outcome != PassFailed || !strings.Contains(got.Err.Error(), want) || len(got.Applied) > 0 || got.Pruned != nil {
			t.Errorf("want %q, got %s, pruned %v: %v", want, got.Outcome, got.Pruned, got.Err)
		}
	}
}

func TestPass_ErrorsDecideOutcome(t *testing.T) {
	for _, c := range []struct {
		err  error
		want PassOutcome
		next time.Duration
	}{
		{nil, PassComplete, 0},
		{kopf.Waitf(time.Minute, "wait"), PassWaits, time.Minute},
		{kopf.Temporaryf(time.Second, "again"), PassRetried, time.Second},
		{errors.New("unknown"), PassRetried, time.Minute},
		{kopf.Permanentf("no"), PassFailed, 0},
	} {
		p := Pass[shop](t, registerShop, "spec: {}", Child{Kind: "Deployment"})
		if got := Passed(t, p, c.err); got.Outcome != c.want || got.Next != c.next || got.Pruned != nil { // without Apply, nothing is pruned
			t.Errorf("%v: %s in %s, pruned %v", c.err, got.Outcome, got.Next, got.Pruned)
		}
	}
}

func TestPass_ParentDecidesNamespaces(t *testing.T) {
	register := func(r *kopf.Registry) {
		kopf.OnReconcile(r, kopf.Resource("example.com/v1", "tenants"), reconcileShop,
			kopf.Own{Resource: kopf.Resource("v1", "namespaces"), Keep: true}, kopf.Own{Resource: shopSecrets})
	}
	namespace := &corev1.Namespace{}
	within := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "key"}}
	p := Pass[shop](t, register, "metadata: {name: team, namespace: ''}", Child{Kind: "Secret", Name: "team/old"})
	got := Passed(t, p, p.Apply(t.Context(), namespace, within))
	if diff := cmp.Diff([]string{"Namespace team", "Secret team/key"}, got.Applied); diff != "" || !cmp.Equal([]string{"Secret team/old"}, got.Pruned) {
		t.Errorf("pruned %v: %v\n%s", got.Pruned, got.Err, diff)
	}
	p = Pass[shop](t, register, "metadata: {name: team, namespace: ''}")
	if err := p.Apply(t.Context(), &corev1.Secret{}); err == nil || !strings.Contains(err.Error(), "set metadata.namespace") {
		t.Error(err)
	}
	p = Pass[shop](t, register, "spec: {}")
	if err := p.Apply(t.Context(), namespace); err == nil || !strings.Contains(err.Error(), "it is cluster-scoped") {
		t.Error(err)
	}
}

func TestPass_SelectsHandlerByObject(t *testing.T) {
	register := func(r *kopf.Registry) {
		registerShop(r)
		kopf.OnReconcile(r, kopf.Resource("example.com/v1", "markets"), reconcileShop, kopf.Own{Resource: kopf.Resource("v1", "configmaps")})
	}
	p := Pass[shop](t, register, "{apiVersion: example.com/v1, kind: Market}")
	if err := p.Apply(t.Context(), &corev1.ConfigMap{}); err != nil {
		t.Error(err)
	}
}

func TestPass_VersionsAreThoseOfTheTest(t *testing.T) {
	configs := kopf.Resource("v1", "configmaps")
	register := func(r *kopf.Registry) {
		kopf.OnReconcile(r, kopf.Resource("example.com/v1", "shops"), reconcileShop, kopf.RefersTo(shopSecrets, "spec.secret"),
			kopf.Watches(configs, func(context.Context, *kopf.IndexRequest[metav1.PartialObjectMetadata]) []types.NamespacedName {
				return nil
			}))
	}
	p := Pass[shop](t, register, "spec: {}")
	if none := p.Versions(shopSecrets); none == nil || len(none) > 0 || p.Versions(shopDeployments) != nil {
		t.Errorf("before, the versions are %v and %v", none, p.Versions(shopDeployments))
	}
	for _, want := range []map[string]string{{"cert": "1", "other/shared": "2"}, {"cert": "3"}} {
		SetVersions(t, p, shopSecrets, want)
		if diff := cmp.Diff(want, p.Versions(shopSecrets)); diff != "" {
			t.Error(diff)
		}
	}
	SetVersions(t, p, configs, map[string]string{"config": "4"})
	if got := p.Versions(configs); !cmp.Equal(got, map[string]string{"config": "4"}) {
		t.Errorf("the versions are %v", got)
	}
	failure := failureOf(t, func(d testing.TB) { SetVersions(d, p, shopDeployments, nil) })
	wantAll(t, failure, "neither a RefersTo nor a Watches of apps/v1 deployments")
}

func TestPass_ConditionsAreCheckedAndRecorded(t *testing.T) {
	provisioned := metav1.Condition{Type: "Provisioned", Status: metav1.ConditionTrue, Reason: "Done"}
	unknown := metav1.Condition{Type: "Paid", Status: metav1.ConditionUnknown, Reason: "Asked"}
	refused := provisioned
	refused.Type = "Ready"
	p := Pass[shop](t, func(r *kopf.Registry) {
		registerShop(r)
		kopf.Conditions(r, kopf.Resource("example.com/v1", "shops"))
	}, "spec: {}")
	for _, c := range []metav1.Condition{{Type: provisioned.Type, Status: metav1.ConditionFalse, Reason: "Started"}, unknown, provisioned} {
		if err := p.SetCondition(c); err != nil {
			t.Error(err)
		}
	}
	if err := p.SetCondition(refused); err == nil || !strings.Contains(err.Error(), "the operator itself keeps this condition") {
		t.Errorf("a reserved condition has the error %v", err)
	}
	if diff := cmp.Diff([]metav1.Condition{unknown, provisioned}, Passed(t, p, nil).Conditions); diff != "" {
		t.Error(diff)
	}
	p = Pass[shop](t, registerShop, "spec: {}")
	if err := p.SetCondition(provisioned); err == nil || !strings.Contains(err.Error(), "register kopf.Conditions") || Passed(t, p, err).Conditions != nil {
		t.Errorf("without conditions, the error is %v", err)
	}
}
