package manifest_test

import (
	"embed"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopf/manifest"
	"github.com/kopf-dev/kopf/sdk/kopf/owner"
)

//go:embed testdata/webapp.yaml
var files embed.FS

// A handler renders a Deployment and a Service, and makes them children of its object.
func Example() {
	var r kopf.Registry
	webapp := manifest.New(&r, files, "testdata/*.yaml") // in Register
	if err := r.Err(); err != nil {
		fmt.Println(err)
	}

	body, err := kopf.ObjectOf(map[string]any{ // c.Body in a handler
		"apiVersion": "example.com/v1", "kind": "WebApp", "metadata": map[string]any{"name": "shop", "namespace": "default", "uid": "u1"},
		"spec": map[string]any{"image": "nginx", "version": 1.29, "replicas": 3, "ports": []any{map[string]any{"port": 80}}},
	})
	if err != nil {
		fmt.Println(err)
	}
	objects, err := webapp.Render(body, manifest.Vars{"checksum": manifest.Checksum("the configuration")})
	if err == nil {
		err = owner.Adopt(objects, body, owner.Options{})
	}
	if err != nil {
		fmt.Println(err)
	}
	for _, o := range objects {
		child, err := kopf.ObjectOf(o)
		fmt.Println(child.Get("kind"), o.GetNamespace(), o.GetName(), metav1.GetControllerOf(o).Name, err)
		fmt.Println(child.Get("spec.replicas"), child.Get("spec.ports"))
		fmt.Println(child.Get("spec.template.spec.containers[0].image"))
	}
	// Output:
	// Deployment default shop shop <nil>
	// 3 <nil>
	// registry.example.com/nginx:1.29
	// Service default shop shop <nil>
	// <nil> [map[port:80]]
	// <nil>
}
