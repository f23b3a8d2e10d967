package apply

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// sorted moves CustomResourceDefinitions and Namespaces to the front and keeps the order
// otherwise.
func sorted(all []Manifest) []Manifest {
	slices.SortStableFunc(all, func(a, b Manifest) int { return cmp.Compare(rank(a), rank(b)) })
	return all
}

func rank(m Manifest) int {
	switch {
	case m.isCRD():
		return 0
	case m.Object.GroupVersionKind().GroupKind() == schema.GroupKind{Kind: "Namespace"}:
		return 1
	default:
		return 2
	}
}

func (m Manifest) isCRD() bool {
	return m.Object.GroupVersionKind().GroupKind() == schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
}

// IsSetup reports whether others need the object before they can work: a definition, a namespace, a permission or its
// account, or a peering object.
func (m Manifest) IsSetup() bool {
	kind := m.Object.GroupVersionKind().GroupKind()
	switch kind.Group {
	case "":
		return kind.Kind == "Namespace" || kind.Kind == "ServiceAccount"
	case "rbac.authorization.k8s.io":
		return true
	case "kopf.dev", "zalando.org": // the groups of peering objects
		return kind.Kind == "KopfPeering" || kind.Kind == "ClusterKopfPeering"
	}
	return m.isCRD()
}
