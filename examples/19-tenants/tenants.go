// Package tenants keeps a namespace for each cluster-scoped Tenant, with a quota and a RoleBinding for each member.
package tenants

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopf/manifest"
)

// Tenant has the fields that the handler reads.
type Tenant struct {
	Spec struct {
		Members []string            `json:"members"`
		Quota   corev1.ResourceList `json:"quota"`
	} `json:"spec"`
}

// Register registers the handler. kopf dev and kopf run call it.
func Register(r *kopf.Registry) {
	kopf.OnReconcile(r, kopf.Resource("kopf.dev/v1", "tenants"), reconcile,
		kopf.Own{Resource: kopf.Resource("v1", "namespaces"), Keep: true, Adopt: true}, // data outlive the tenant
		kopf.Own{Resource: kopf.Resource("v1", "resourcequotas"), Drift: kopf.ReportDrift},
		kopf.Own{Resource: kopf.Resource("rbac.authorization.k8s.io/v1", "rolebindings")},
		// The API server rejects a RoleBinding to a role that the operator may not bind.
		kopf.Uses(kopf.Resource("rbac.authorization.k8s.io/v1", "clusterroles"), "bind"))
}

func reconcile(ctx context.Context, p *kopf.Pass[Tenant]) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.Name}}
	if err := p.Apply(ctx, namespace); err != nil {
		return err
	}
	if err := p.WaitReady(namespace); err != nil {
		return err // the pass waits, so the operator prunes nothing
	}
	objs := []metav1.Object{&corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Name, Name: "tenant"},
		Spec:       corev1.ResourceQuotaSpec{Hard: p.Object.Spec.Quota},
	}}
	for _, member := range p.Object.Spec.Members { // the binding of a removed member is pruned
		objs = append(objs, &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: p.Name, Name: manifest.NameOf("member", member)},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: member}},
		})
	}
	return p.Apply(ctx, objs...)
}
