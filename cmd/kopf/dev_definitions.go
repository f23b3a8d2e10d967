package main

import (
	"context"
	"fmt"
	"os"
	"sync"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/crds"
	"github.com/kopf-dev/kopf/devcluster/apply"
)

// definer makes the definitions of resources from the Go types of a development session, and applies them.
type definer struct {
	dir      string
	patterns []string
	cluster  *operatorCluster
	warn     func(warnings []string)

	mu      sync.Mutex
	applied map[string]string                                  // texts, by name
	former  map[string]*apiextensions.CustomResourceDefinition // definitions from before the session, or else its first ones, by name
}

// define makes and applies the definitions that have changed. What goes wrong is a warning: the operator runs with
// the definitions that are there.
func (d *definer) define(ctx context.Context) {
	d.mu.Lock()
	defer d.mu.Unlock()
	warnings, err := d.update(ctx)
	if err != nil && ctx.Err() == nil {
		warnings = append(warnings, "the definitions were not updated: "+err.Error())
	}
	d.warn(warnings)
}

// update applies the definitions that have changed. It returns warnings about breaking changes of all definitions.
func (d *definer) update(ctx context.Context) (warnings []string, err error) {
	all, err := crds.Generate(ctx, d.dir, d.patterns)
	if err != nil {
		return nil, err
	}
	config, err := d.cluster.restConfig()
	if err != nil {
		return nil, err
	}
	if d.applied == nil {
		d.applied, d.former = map[string]string{}, map[string]*apiextensions.CustomResourceDefinition{}
	}
	for _, definition := range all {
		name := definition.Name
		if d.former[name] == nil {
			if d.former[name], err = definitionIn(ctx, config, name); err != nil {
				return warnings, err
			}
		}
		if d.former[name] == nil {
			d.former[name] = definition
		}
		if d.former[name].Annotations[crds.MadeFrom] == "" {
			warnings = append(warnings, fmt.Sprintf("the definition of %s in the cluster was not made from the Go type and stays as it is; delete it to have it made from the type", name))
			continue
		}
		broken, err := crds.Breaking(d.former[name], definition)
		if err != nil {
			return warnings, err
		}
		for _, b := range broken {
			warnings = append(warnings, fmt.Sprintf("the definition of %s may break objects that exist: %s", name, b))
		}
		text, err := crds.YAML(definition)
		if err != nil {
			return warnings, err
		}
		if d.applied[name] == string(text) {
			continue
		}
		if err := applyText(ctx, config, text); err != nil {
			return warnings, err
		}
		d.applied[name] = string(text)
	}
	return warnings, nil
}

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// definitionIn returns a definition of the cluster, or nil if it has none.
func definitionIn(ctx context.Context, config *rest.Config, name string) (*apiextensions.CustomResourceDefinition, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("read the definition %s: %w", name, err)
	}
	object, err := client.Resource(definitions).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the definition %s: %w", name, err)
	}
	var d apiextensions.CustomResourceDefinition
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &d); err != nil {
		return nil, fmt.Errorf("read the definition %s: %w", name, err)
	}
	return &d, nil
}

// applyText applies a manifest.
func applyText(ctx context.Context, config *rest.Config, text []byte) error {
	file, err := os.CreateTemp("", "kopf-*.yaml")
	if err != nil {
		return fmt.Errorf("write the definition: %w", err)
	}
	defer func() { _ = os.Remove(file.Name()) }() // it is temporary
	if _, err := file.Write(text); err != nil {
		return fmt.Errorf("write the definition: %w", err)
	}
	if err := file.Close(); err != nil {
		return fmt.Errorf("write the definition: %w", err)
	}
	_, err = apply.Files(ctx, config, []string{file.Name()}, apply.Options{})
	return err
}
