package reasons

import (
	"github.com/kopf-dev/kopf/sdk/internal/children"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// Child describes a version of a child, usually the newest version that the operator has received.
type Child struct {
	Resource *resources.Resource
	children.Digest
	lens *children.Lens
}

// NewChild returns a child. The lens must be the one that made the digest.
func NewChild(res *resources.Resource, d children.Digest, lens *children.Lens) *Child {
	return &Child{Resource: res, Digest: d, lens: lens}
}

// Same reports whether two children have the same resource, namespace and name. It returns true for two nils.
func (c *Child) Same(o *Child) bool {
	if c == nil || o == nil {
		return c == o
	}
	return c.Resource.Key() == o.Resource.Key() && c.Name == o.Name && c.Namespace() == o.Namespace()
}

// Observed returns the values of the fields in [children.Lens.Observe], as a tree.
func (c *Child) Observed() (map[string]any, error) { return c.lens.ObservedFields(&c.Digest) }

// String returns the kind with the name, such as "Deployment shop".
func (c *Child) String() string { return c.Resource.Kind + " " + c.Name }
