package resources

import (
	"errors"
	"net/url"
	"strings"
)

// ErrNamespaceRequired is the error of the path to a namespaced object without a namespace.
var ErrNamespaceRequired = errors.New("an object of a namespaced resource needs its namespace")

var (
	errSubresourceOfList = errors.New("a subresource needs the name of its object")
	errClusterScoped     = errors.New("a cluster-scoped resource has no namespaces")
)

// Path returns the URL path of a list of objects if the name is empty, of an object, or of a
// subresource. An empty namespace means the whole cluster. Names are not escaped, as the API
// accepts none that need it.
func (r *Resource) Path(namespace, name, subresource string, query url.Values) (string, error) {
	switch {
	case subresource != "" && name == "":
		return "", errSubresourceOfList
	case namespace != "" && !r.Namespaced:
		return "", errClusterScoped
	case namespace == "" && r.Namespaced && name != "":
		return "", ErrNamespaceRequired
	}
	var b strings.Builder
	b.Grow(64 + len(r.Group) + len(r.Plural) + len(namespace) + len(name))
	if r.Group == "" {
		b.WriteString("/api/")
	} else {
		b.WriteString("/apis/")
		b.WriteString(r.Group)
		b.WriteByte('/')
	}
	b.WriteString(r.Version)
	if namespace != "" {
		b.WriteString("/namespaces/")
		b.WriteString(namespace)
	}
	for _, part := range [...]string{r.Plural, name, subresource} {
		if part != "" {
			b.WriteByte('/')
			b.WriteString(part)
		}
	}
	if len(query) > 0 {
		b.WriteByte('?')
		b.WriteString(query.Encode())
	}
	return b.String(), nil
}
