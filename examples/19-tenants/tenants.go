// Package tenants gives each Tenant, which is cluster-scoped, a namespace with a quota and the roles of its members.
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
		// An operator can only grant roles that it may bind.
		kopf.Uses(kopf.Resource("rbac.authorization.k8s.io/v1", "clusterroles"), "bind"))
}

func reconcile(ctx context.Context, p *kopf.Pass[Tenant]) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.Name}}
	if err := p.Apply(ctx, namespace); err != nil {
		return err
	}
	if err := p.WaitReady(namespace); err != nil {
		return err // the pass is not complete, so that it prunes nothing
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
