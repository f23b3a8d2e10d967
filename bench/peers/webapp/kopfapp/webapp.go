// Package kopfapp is the operator of web applications, written with Kopf.
package kopfapp

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

// WebApp has the fields that the handler reads.
type WebApp struct {
	Spec struct {
		Image    string            `json:"image"`
		Replicas int32             `json:"replicas"`
		Host     string            `json:"host"`
		Config   map[string]string `json:"config"`
	} `json:"spec"`
}

// Register registers the handler.
func Register(r *kopf.Registry) {
	kopf.OnReconcile(r, kopf.Resource("peers.kopf.dev/v1", "webapps"), reconcile,
		kopf.Own{Resource: kopf.Resource("v1", "configmaps")},
		kopf.Own{Resource: kopf.Resource("apps/v1", "deployments")},
		kopf.Own{Resource: kopf.Resource("v1", "services")},
		kopf.Own{Resource: kopf.Resource("networking.k8s.io/v1", "ingresses"), Observe: []kopf.Path{"status.loadBalancer"}})
}

func reconcile(ctx context.Context, p *kopf.Pass[WebApp]) error {
	labels := map[string]string{"app": p.Name}
	config := &corev1.ConfigMap{Data: p.Object.Spec.Config}
	deployment := &appsv1.Deployment{Spec: appsv1.DeploymentSpec{
		Replicas: &p.Object.Spec.Replicas,
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{
				Name:  "web",
				Image: p.Object.Spec.Image,
				EnvFrom: []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{
					LocalObjectReference: corev1.LocalObjectReference{Name: p.Name},
				}}},
			}}},
		},
	}}
	service := &corev1.Service{Spec: corev1.ServiceSpec{Selector: labels, Ports: []corev1.ServicePort{{Port: 80}}}}
	children := []metav1.Object{config, deployment, service}
	ingress := &networkingv1.Ingress{Spec: networkingv1.IngressSpec{Rules: []networkingv1.IngressRule{{
		Host: p.Object.Spec.Host,
		IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{Paths: []networkingv1.HTTPIngressPath{{
			Path:     "/",
			PathType: new(networkingv1.PathTypePrefix),
			Backend: networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{
				Name: p.Name, Port: networkingv1.ServiceBackendPort{Number: 80},
			}},
		}}}},
	}}}}
	if p.Object.Spec.Host != "" {
		children = append(children, ingress)
	}
	if err := p.Apply(ctx, children...); err != nil {
		return err
	}
	address := ""
	if child := p.Child(ingress); child != nil && p.Object.Spec.Host != "" {
		address = kopf.GetOr(child.Observed, "status.loadBalancer.ingress[0].ip", "")
	}
	err := p.WaitReady(deployment)
	p.Patch.Set("status.address", address)
	p.Patch.Set("status.ready", err == nil)
	return err
}
