// Package runtimeapp is the operator of web applications, written with controller-runtime.
package runtimeapp

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// WebApp is a web application.
type WebApp struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   WebAppSpec   `json:"spec"`
	Status WebAppStatus `json:"status,omitempty"`
}

// WebAppSpec is the desired state of a web application.
type WebAppSpec struct {
	Image    string            `json:"image"`
	Replicas int32             `json:"replicas"`
	Host     string            `json:"host,omitempty"`
	Config   map[string]string `json:"config,omitempty"`
}

// WebAppStatus is the state of a web application.
type WebAppStatus struct {
	Address string `json:"address"`
	Ready   bool   `json:"ready"`
}

// WebAppList is a list of web applications.
type WebAppList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []WebApp `json:"items"`
}

var groupVersion = schema.GroupVersion{Group: "peers.kopf.dev", Version: "v1"}

// AddToScheme adds the types of this package to a scheme.
func AddToScheme(scheme *runtime.Scheme) {
	scheme.AddKnownTypes(groupVersion, &WebApp{}, &WebAppList{})
	metav1.AddToGroupVersion(scheme, groupVersion)
}

// Reconciler keeps the children of web applications.
type Reconciler struct{ client.Client }

// SetupWithManager adds the reconciler to a manager.
func (r *Reconciler) SetupWithManager(m ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(m).
		For(&WebApp{}).
		Owns(&corev1.ConfigMap{}).
		Owns(&appsv1.Deployment{}).
		Owns(&corev1.Service{}).
		Owns(&networkingv1.Ingress{}).
		Complete(r)
}

// Reconcile implements [ctrl.Reconciler].
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	app := &WebApp{}
	if err := r.Get(ctx, request.NamespacedName, app); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !app.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	if err := r.keepConfig(ctx, app); err != nil {
		return ctrl.Result{}, err
	}
	ready, err := r.keepDeployment(ctx, app)
	if err != nil {
		return ctrl.Result{}, err
	}
	if err := r.keepService(ctx, app); err != nil {
		return ctrl.Result{}, err
	}
	address, err := r.keepIngress(ctx, app)
	if err != nil {
		return ctrl.Result{}, err
	}
	status := WebAppStatus{Address: address, Ready: ready}
	if app.Status == status {
		return ctrl.Result{}, nil
	}
	app.Status = status
	if err := r.Status().Update(ctx, app); err != nil {
		return ctrl.Result{}, fmt.Errorf("update the status: %w", err)
	}
	return ctrl.Result{}, nil
}

func meta(app *WebApp) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: app.Namespace, Name: app.Name}
}

func (r *Reconciler) keepConfig(ctx context.Context, app *WebApp) error {
	config := &corev1.ConfigMap{ObjectMeta: meta(app)}
	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, config, func() error {
		config.Data = app.Spec.Config
		return controllerutil.SetControllerReference(app, config, r.Scheme())
	})
	if err != nil {
		return fmt.Errorf("keep the ConfigMap: %w", err)
	}
	return nil
}

func (r *Reconciler) keepDeployment(ctx context.Context, app *WebApp) (ready bool, err error) {
	labels := map[string]string{"app": app.Name}
	deployment := &appsv1.Deployment{ObjectMeta: meta(app)}
	_, err = controllerutil.CreateOrUpdate(ctx, r.Client, deployment, func() error {
		deployment.Spec.Replicas = &app.Spec.Replicas
		if deployment.CreationTimestamp.IsZero() { // the selector is immutable
			deployment.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
		}
		template := &deployment.Spec.Template
		template.Labels = labels
		if len(template.Spec.Containers) != 1 {
			template.Spec.Containers = make([]corev1.Container, 1)
		}
		web := &template.Spec.Containers[0] // keeps the defaults of the API server, so that unchanged objects are not updated
		web.Name = "web"
		web.Image = app.Spec.Image
		web.EnvFrom = []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: app.Name},
		}}}
		return controllerutil.SetControllerReference(app, deployment, r.Scheme())
	})
	if err != nil {
		return false, fmt.Errorf("keep the Deployment: %w", err)
	}
	status := deployment.Status
	return status.ObservedGeneration == deployment.Generation && status.Replicas == app.Spec.Replicas &&
		status.UpdatedReplicas == app.Spec.Replicas && status.AvailableReplicas == app.Spec.Replicas, nil
}

func (r *Reconciler) keepService(ctx context.Context, app *WebApp) error {
	service := &corev1.Service{ObjectMeta: meta(app)}
	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, service, func() error {
		service.Spec.Selector = map[string]string{"app": app.Name}
		if len(service.Spec.Ports) != 1 {
			service.Spec.Ports = make([]corev1.ServicePort, 1)
		}
		service.Spec.Ports[0].Port = 80
		return controllerutil.SetControllerReference(app, service, r.Scheme())
	})
	if err != nil {
		return fmt.Errorf("keep the Service: %w", err)
	}
	return nil
}

// keepIngress returns the address of the ingress. Without a host, it deletes the ingress.
func (r *Reconciler) keepIngress(ctx context.Context, app *WebApp) (address string, err error) {
	ingress := &networkingv1.Ingress{ObjectMeta: meta(app)}
	if app.Spec.Host == "" {
		if err := r.Get(ctx, client.ObjectKeyFromObject(ingress), ingress); err != nil {
			return "", client.IgnoreNotFound(err)
		}
		if !metav1.IsControlledBy(ingress, app) {
			return "", nil
		}
		return "", client.IgnoreNotFound(r.Delete(ctx, ingress, client.Preconditions{UID: &ingress.UID}))
	}
	_, err = controllerutil.CreateOrUpdate(ctx, r.Client, ingress, func() error {
		ingress.Spec.Rules = []networkingv1.IngressRule{{
			Host: app.Spec.Host,
			IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{Paths: []networkingv1.HTTPIngressPath{{
				Path:     "/",
				PathType: new(networkingv1.PathTypePrefix),
				Backend: networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{
					Name: app.Name, Port: networkingv1.ServiceBackendPort{Number: 80},
				}},
			}}}},
		}}
		return controllerutil.SetControllerReference(app, ingress, r.Scheme())
	})
	if err != nil {
		return "", fmt.Errorf("keep the Ingress: %w", err)
	}
	for _, point := range ingress.Status.LoadBalancer.Ingress {
		return point.IP, nil
	}
	return "", nil
}
