package resources

import (
	"errors"
	"net/url"
	"strings"
)

// The reasons why there is no path for what was asked.
var (
	// ErrSubresourceOfList is the error of a subresource asked of no specific object.
	ErrSubresourceOfList = errors.New("a subresource belongs to a specific object: its name is missing")
	// ErrClusterScoped is the error of a namespace given for a resource that has none.
	ErrClusterScoped = errors.New("a cluster-scoped resource has no namespaces")
	// ErrNamespaceRequired is the error of a namespaced object with no namespace given.
	ErrNamespaceRequired = errors.New("an object of a namespaced resource needs its namespace")
)

// Path is where the API has a list of objects (the name is empty), an object, or a
// subresource of it. An empty namespace means the whole cluster. The names go into the
// path as they are: the API accepts none that would have to be escaped.
func (r *Resource) Path(namespace, name, subresource string, query url.Values) (string, error) {
	switch {
	case subresource != "" && name == "":
		return "", ErrSubresourceOfList
	case namespace != "" && !r.Namespaced:
		return "", ErrClusterScoped
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

// Join puts a path of the API behind a server's address, which may have a path itself.
func Join(server, path string) string {
	return strings.TrimRight(server, "/") + "/" + strings.TrimLeft(path, "/")
}
