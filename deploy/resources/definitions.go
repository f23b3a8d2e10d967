package resources

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/version"

	"github.com/kopf-dev/kopf/devcluster/apply"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// definition describes the resource of a custom resource definition.
type definition struct {
	Spec struct {
		Group string `json:"group"`
		Scope string `json:"scope"`
		Names struct {
			Kind       string   `json:"kind"`
			Plural     string   `json:"plural"`
			Singular   string   `json:"singular"`
			ShortNames []string `json:"shortNames"`
			Categories []string `json:"categories"`
		} `json:"names"`
		Versions []struct {
			Name         string `json:"name"`
			Served       bool   `json:"served"`
			Subresources struct {
				Status *struct{} `json:"status"`
				Scale  *struct{} `json:"scale"`
			} `json:"subresources"`
		} `json:"versions"`
	} `json:"spec"`
}

// customVerbs are the verbs that a cluster offers for custom resources.
var customVerbs = []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}

// Defined returns the resources of the custom resource definitions among manifests. Other manifests are
// ignored.
func Defined(manifests []apply.Manifest) ([]inspect.APIResource, error) {
	var all []inspect.APIResource
	for _, m := range manifests {
		gvk := m.Object.GroupVersionKind()
		if gvk.Group != "apiextensions.k8s.io" || gvk.Kind != "CustomResourceDefinition" {
			continue
		}
		body, err := m.Object.MarshalJSON()
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", m.File, m.Line, err)
		}
		var d definition
		if err := json.Unmarshal(body, &d); err != nil {
			return nil, fmt.Errorf("%s:%d: read the custom resource definition %s: %w", m.File, m.Line, m.Object.GetName(), err)
		}
		all = append(all, d.resources()...)
	}
	return all, nil
}

// resources returns one resource for each served version. The preferred one has the highest priority in
// the order of Kubernetes: v2, v1, v1beta1.
func (d *definition) resources() []inspect.APIResource {
	names := d.Spec.Names
	var all []inspect.APIResource
	preferred := -1
	for _, v := range d.Spec.Versions {
		if !v.Served {
			continue
		}
		r := inspect.APIResource{
			Group: d.Spec.Group, Version: v.Name, Plural: names.Plural, Kind: names.Kind, Singular: names.Singular,
			Shortcuts: names.ShortNames, Categories: names.Categories, Verbs: customVerbs, Namespaced: d.Spec.Scope == "Namespaced",
		}
		if v.Subresources.Scale != nil {
			r.Subresources = append(r.Subresources, "scale")
		}
		if v.Subresources.Status != nil {
			r.Subresources = append(r.Subresources, "status")
		}
		if preferred < 0 || version.CompareKubeAwareVersionStrings(v.Name, all[preferred].Version) > 0 {
			preferred = len(all)
		}
		all = append(all, r)
	}
	if preferred >= 0 {
		all[preferred].Preferred = true
	}
	return all
}
