package main

import (
	"context"
	"os"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

// childrenVariable makes the operator keep four children of each object, and have no other handlers. With "ingress", it keeps one child, and
// conditions.
const childrenVariable = "KOPF_BENCH_CHILDREN"

func registerChildren(r *kopf.Registry, examples kopf.Selector) {
	if os.Getenv(childrenVariable) == "ingress" {
		kopf.Conditions(r, examples)
		kopf.OnReconcile(r, examples, keepIngress, kopf.Own{Resource: kopf.Resource("networking.k8s.io/v1", "ingresses")})
		return
	}
	kopf.OnReconcile(r, examples, keepChildren,
		kopf.Own{Resource: kopf.Resource("v1", "configmaps")},
		kopf.Own{Resource: kopf.Resource("v1", "secrets")},
		kopf.Own{Resource: kopf.Resource("v1", "serviceaccounts")},
		kopf.Own{Resource: kopf.Resource("networking.k8s.io/v1", "networkpolicies")})
	printState(func() {})
}

// printsBegin makes the handler also print the beginning of its calls.
var printsBegin = os.Getenv(childrenVariable) == "begin"

// keepChildren prints the call after the children were applied.
func keepChildren(ctx context.Context, p *kopf.Pass[example]) error {
	if printsBegin {
		printCall("begun-" + p.Name)
	}
	objs := []metav1.Object{
		&unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"field": p.Object.Spec.Field, "name": p.Name},
		}},
		&unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Secret", "stringData": map[string]any{"field": p.Object.Spec.Field},
		}},
		&unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ServiceAccount"}},
		&unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy",
			"spec": map[string]any{
				"podSelector": map[string]any{"matchLabels": map[string]any{"app": p.Name}}, "policyTypes": []any{"Ingress"},
			},
		}},
	}
	if err := p.Apply(ctx, objs...); err != nil {
		return err
	}
	printCall(p.Name)
	return nil
}

// keepIngress keeps a child that is ready when its status says so.
func keepIngress(ctx context.Context, p *kopf.Pass[example]) error {
	err := p.Apply(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
		"spec": map[string]any{"defaultBackend": map[string]any{"service": map[string]any{"name": p.Name, "port": map[string]any{"number": int64(80)}}}},
	}})
	printCall(p.Name)
	return err
}
