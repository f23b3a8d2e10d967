package redact

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/printable"
)

// Mark is shown in place of a value.
const Mark = printable.Redacted

// Policy is which values are hidden, besides the data of Secrets.
type Policy struct {
	// Fields are the fields whose values are hidden in the objects of all resources. A path continues in each item of
	// a list.
	Fields []object.Path

	// Indices are the ids of indices whose values are hidden.
	Indices []string
}

// ofSecrets are the fields of Secrets that are hidden.
var ofSecrets = []object.Path{{"data"}, {"stringData"}}

// Of returns the Secrets that hides the values of an object, and of other versions of it; nil if it has none to hide. It keeps
// the texts of all of them.
func (p *Policy) Of(res *resources.Resource, versions ...*object.Object) *Secrets {
	paths := p.Fields
	if isSecret(res) {
		paths = append(ofSecrets[:len(ofSecrets):len(ofSecrets)], paths...)
	}
	if len(paths) == 0 {
		return nil
	}
	var raws [][]byte
	for _, version := range versions {
		if version != nil {
			raws = append(raws, version.Raw)
		}
	}
	return newSecrets(paths, func() []any {
		var trees []any
		for _, raw := range raws {
			if !mayHave(raw, paths) {
				continue
			}
			if tree, err := (&object.Object{Raw: raw}).Tree(); err == nil {
				trees = append(trees, tree)
			}
		}
		return trees
	})
}

// mayHave reports whether an object may have one of the fields, without decoding it: most objects have none.
func mayHave(raw []byte, paths []object.Path) bool {
	return slices.ContainsFunc(paths, func(path object.Path) bool {
		if len(path) == 0 {
			return true
		}
		name := path[len(path)-1]
		escaped := strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r > '~' || strings.ContainsRune(`"\<>&`, r) })
		return escaped || bytes.Contains(raw, []byte(name))
	})
}

func isSecret(res *resources.Resource) bool { return res.Group == "" && res.Plural == "secrets" }

// secrets is the resource of Secrets.
var secrets = resources.Resource{
	Version: "v1", Kind: "Secret", Plural: "secrets", Singular: "secret", Namespaced: true, Preferred: true,
}

// MayBeSecret reports whether a selector selects Secrets.
func MayBeSecret(s *resources.Selector) bool { return s.Match(&secrets) }

// OfSelected is [Policy.Of] for all objects of the resources that a selector selects.
func (p *Policy) OfSelected(s *resources.Selector) *Secrets {
	if MayBeSecret(s) {
		return p.Of(&secrets)
	}
	return p.Of(&resources.Resource{})
}

// Tree returns a copy of an object of any kind without the values to hide.
func (p *Policy) Tree(tree map[string]any) map[string]any {
	paths := p.Fields
	if tree["apiVersion"] == "v1" && tree["kind"] == "Secret" {
		paths = append(ofSecrets[:len(ofSecrets):len(ofSecrets)], paths...)
	}
	if len(paths) == 0 {
		return tree
	}
	out, _ := newSecrets(paths, func() []any { return []any{tree} }).Value(nil, tree).(map[string]any)
	return out
}

// covers reports whether a field is hidden: itself, or a field that it is in.
func (s *Secrets) covers(path object.Path) bool {
	for _, hidden := range s.paths {
		if path.HasPrefix(hidden) {
			return true
		}
	}
	return false
}

// contains reports whether a field is hidden or has a hidden one inside.
func (s *Secrets) contains(path object.Path) bool {
	for _, hidden := range s.paths {
		if path.HasPrefix(hidden) || hidden.HasPrefix(path) {
			return true
		}
	}
	return false
}

// at returns the possible paths of a JSON pointer, as far as they differ in hidden fields. A number in the pointer is
// either the index of a list item, which paths do not have, or the key of a map. There is at least one path.
func (s *Secrets) at(pointer string) []object.Path {
	if pointer == "" {
		return []object.Path{nil}
	}
	var whole object.Path
	paths := []object.Path{nil}
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		name := strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		whole = append(whole, name)
		var longer []object.Path
		add := func(path object.Path) {
			known := slices.ContainsFunc(longer, func(other object.Path) bool { return slices.Equal(path, other) })
			if s.contains(path) && !known {
				longer = append(longer, path)
			}
		}
		for _, path := range paths {
			if s.covers(path) {
				return []object.Path{path}
			}
			if isIndex(token) {
				add(path)
			}
			add(path.Child(name))
		}
		paths = longer
	}
	if len(paths) > 0 {
		return paths
	}
	// Nothing in it is hidden, except for copies in the status.
	return []object.Path{whole, slices.DeleteFunc(slices.Clone(whole), isIndex)}
}

// isIndex reports whether a token of a JSON pointer can be the index of a list item.
func isIndex(token string) bool {
	_, err := strconv.ParseUint(token, 10, 64)
	return err == nil || token == "-"
}
