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
