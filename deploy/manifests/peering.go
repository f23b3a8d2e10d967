package manifests

import "strings"

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

// Peering returns the definitions of the peering resources and a peering object with a name: one of the
// whole cluster, and one in each of the namespaces.
func Peering(name string, namespaces []string) string {
	define := func(scope, kind, plural, singular string) string {
		return strings.NewReplacer("SCOPE", scope, "KIND", kind, "PLURAL", plural, "SINGULAR", singular).Replace(peeringDefinition)
	}
	documents := []string{
		define("Cluster", "ClusterKopfPeering", "clusterkopfpeerings", "clusterkopfpeering"),
		define("Namespaced", "KopfPeering", "kopfpeerings", "kopfpeering"),
		"apiVersion: kopf.dev/v1\nkind: ClusterKopfPeering\nmetadata:\n  name: " + scalar(name) + "\n",
	}
	for _, namespace := range namespaces {
		documents = append(documents, "apiVersion: kopf.dev/v1\nkind: KopfPeering\nmetadata:\n  name: "+scalar(name)+"\n  namespace: "+scalar(namespace)+"\n")
	}
	return strings.Join(documents, "---\n")
}
