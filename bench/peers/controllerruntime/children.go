package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// childrenVariable makes the operator keep the children that bench/operator keeps.
const childrenVariable = "KOPF_BENCH_CHILDREN"

type childReconciler struct{ client.Client }

// Reconcile keeps four children of an object, and prints the object.
func (r childReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	example := &KopfExample{}
	if err := r.Get(ctx, request.NamespacedName, example); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	named := metav1.ObjectMeta{Name: example.Name, Namespace: example.Namespace}
	config, secret := &corev1.ConfigMap{ObjectMeta: named}, &corev1.Secret{ObjectMeta: named}
	policy := &networkingv1.NetworkPolicy{ObjectMeta: named}
	for _, child := range []struct {
		object client.Object
		set    func()
	}{
		{config, func() { config.Data = map[string]string{"field": example.Spec.Field, "name": example.Name} }},
		{secret, func() { secret.Data = map[string][]byte{"field": []byte(example.Spec.Field)} }},
		{&corev1.ServiceAccount{ObjectMeta: named}, func() {}},
		{policy, func() {
			policy.Spec.PodSelector.MatchLabels = map[string]string{"app": example.Name}
			policy.Spec.PolicyTypes = []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}
		}},
	} {
		_, err := controllerutil.CreateOrUpdate(ctx, r.Client, child.object, func() error {
			child.set()
			return controllerutil.SetControllerReference(example, child.object, r.Scheme())
		})
		if err != nil {
			return ctrl.Result{}, err
		}
	}
	fmt.Println(example.Name, time.Now().UnixNano())
	return ctrl.Result{}, nil
}
