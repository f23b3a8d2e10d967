package kopf

import (
	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// Path is the path of a field: names joined by dots, such as "spec.size". A name with dots is in brackets, as in
// "metadata.labels[app.kubernetes.io/name]", and so is the index of a list item, as in "spec.items[0].name". The empty path
// is the whole object. Write fixed paths as constants, and construct paths from variables with [PathOf], because names can
// have dots.
//
// The index of a list item is only valid for reading, because a [Patch] replaces lists as a whole, and [OnField] and
// [Field] compare whole lists.
type Path string

// PathOf returns the path with the keys, from the outermost to the innermost key. A key can have any characters; only a key
// such as "[0]" is the index of a list item.
//
//	c.Patch.Set(kopf.PathOf("status", "nodes", nodeName), "ready")
func PathOf(keys ...string) Path { return Path(object.Path(keys).String()) }

// Keys returns the keys of the path, from the outermost to the innermost key; none for the whole object. A malformed path
// is returned as one key.
func (p Path) Keys() []string {
	keys, err := p.parse()
	if err != nil {
		return []string{string(p)}
	}
	return keys
}

func (p Path) parse() (object.Path, error) { return object.ParsePath(string(p)) }

// fixed parses the path of a field to watch or to set, which must not contain an index.
func (p Path) fixed() (object.Path, error) {
	where, err := p.parse()
	if err != nil {
		return nil, err
	}
	return where, where.CheckKeys()
}
