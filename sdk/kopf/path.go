package kopf

import (
	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// Path names a field by its names joined by dots, such as "spec.size". A name with dots is in
// brackets, as in "metadata.labels[app.kubernetes.io/name]", and so is the index of a list item, as
// in "spec.items[0].name". The empty path is the whole object. A path that is known when the code is
// written is a constant; any other is made by [PathOf], since names can have dots.
//
// The index of a list item only reads: a [Patch] replaces lists as a whole, and a handler that
// watches a field names the list.
type Path string

// PathOf returns the path with the keys, from the outermost to the innermost one. A key is
// taken as it is, whatever characters it has, except "[0]", which is the index of a list item.
//
//	c.Patch.Set(kopf.PathOf("status", "nodes", nodeName), "ready")
func PathOf(keys ...string) Path { return Path(object.Path(keys).String()) }

// Keys returns the keys of the path, from the outermost to the innermost one; none for the whole
// object. It returns the path itself if that is malformed.
func (p Path) Keys() []string {
	keys, err := p.parse()
	if err != nil {
		return []string{string(p)}
	}
	return keys
}

func (p Path) parse() (object.Path, error) { return object.ParsePath(string(p)) }

// fixed parses the path of a field that is watched or set.
func (p Path) fixed() (object.Path, error) {
	where, err := p.parse()
	if err != nil {
		return nil, err
	}
	return where, where.CheckKeys()
}
