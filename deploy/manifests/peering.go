package manifests

import (
	"cmp"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/validation"
)

// peeringDefinition is the definition of a peering resource. Its arguments are replaced by name.
const peeringDefinition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: PLURAL.kopf.dev
spec:
  scope: SCOPE
  group: kopf.dev
  names:
    kind: KIND
    plural: PLURAL
    singular: SINGULAR
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties:
            status:
              type: object
              x-kubernetes-preserve-unknown-fields: true
`

// PeeringOptions select the manifests of peering.
type PeeringOptions struct {
	// Name is the name of the peering objects. Defaults to "default", which operators use by default.
	Name string

	// Namespaces are those that get a peering object, for operators that serve namespaces. Without any, there is
	// one for the operators of the whole cluster.
	Namespaces []string

	// NoDefinitions and NoObjects leave out the definitions of the resources, or the peering objects.
	NoDefinitions, NoObjects bool
}

// Peering are the definitions of the peering resources, and peering objects.
type Peering struct{ documents []string }

// NewPeering returns the manifests of peering. It fails if a name is not one that Kubernetes accepts.
func NewPeering(o PeeringOptions) (*Peering, error) {
	o.Name = cmp.Or(o.Name, "default")
	if mistakes := validation.NameIsDNSSubdomain(o.Name, false); len(mistakes) > 0 {
		return nil, fmt.Errorf("write manifests of peering: %q is not a valid name: %s", o.Name, mistakes[0])
	}
	for _, namespace := range o.Namespaces {
		if mistakes := validation.NameIsDNSLabel(namespace, false); len(mistakes) > 0 {
			return nil, fmt.Errorf("write manifests of peering: %q is not the name of a namespace: %s", namespace, mistakes[0])
		}
	}
	define := func(scope, kind, plural, singular string) string {
		return strings.NewReplacer("SCOPE", scope, "KIND", kind, "PLURAL", plural, "SINGULAR", singular).Replace(peeringDefinition)
	}
	p := new(Peering)
	if !o.NoDefinitions {
		p.documents = []string{
			define("Cluster", "ClusterKopfPeering", "clusterkopfpeerings", "clusterkopfpeering"),
			define("Namespaced", "KopfPeering", "kopfpeerings", "kopfpeering"),
		}
	}
	if o.NoObjects {
		return p, nil
	}
	if len(o.Namespaces) == 0 {
		p.documents = append(p.documents, "apiVersion: kopf.dev/v1\nkind: ClusterKopfPeering\nmetadata:\n  name: "+scalar(o.Name)+"\n")
	}
	for _, namespace := range unique(o.Namespaces) {
		p.documents = append(p.documents, "apiVersion: kopf.dev/v1\nkind: KopfPeering\nmetadata:\n  name: "+scalar(o.Name)+"\n  namespace: "+scalar(namespace)+"\n")
	}
	return p, nil
}

// YAML returns the manifests as documents of one file.
func (p *Peering) YAML() string { return strings.Join(p.documents, "---\n") }

// JSON returns the manifests as a list.
func (p *Peering) JSON() ([]byte, error) { return toJSON(p.YAML()) }
