package inspect

import (
	"slices"
	"strings"
)

// IsNamed reports whether a word names the kind of an object: as its kind, its short name, or its plural with
// or without the group. Case does not matter.
func IsNamed(o *Object, word string) bool {
	plural, rest, _ := strings.Cut(o.Resource, ".")
	_, group, _ := strings.Cut(rest, ".")
	return slices.Contains([]string{strings.ToLower(o.Kind), o.Short, plural, plural + "." + group}, strings.ToLower(word))
}
