package main

import (
	"context"
	"os"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

// childrenVariable makes the operator keep four children of each object, and have no other handlers.
const childrenVariable = "KOPF_BENCH_CHILDREN"

func registerChildren(r *kopf.Registry, examples kopf.Selector) {
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
