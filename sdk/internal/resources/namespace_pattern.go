package resources

import "strings"

// NamespacePattern is a list of globs. See [ParseNamespacePattern].
type NamespacePattern struct {
	source string
	globs  []glob
}

type glob struct {
	exclude bool
	glob    string
}

// ParseNamespacePattern parses globs separated by commas. A glob that begins with "!" excludes
// namespaces that previous globs included. If the first one does, all others are included.
func ParseNamespacePattern(pattern string) NamespacePattern {
	p := NamespacePattern{source: pattern}
	for i, part := range strings.Split(pattern, ",") {
		part = strings.TrimSpace(part)
		exclude := strings.HasPrefix(part, "!")
		if i == 0 && exclude {
			p.globs = append(p.globs, glob{glob: "*"})
		}
		p.globs = append(p.globs, glob{exclude, strings.TrimLeft(part, "!")})
	}
	return p
}

// Match reports whether the pattern includes a namespace. Other globs cannot include a
// namespace that the first one does not match.
func (p NamespacePattern) Match(name string) bool {
	if len(p.globs) == 0 || !fnmatch(p.globs[0].glob, name) {
		return false
	}
	included := true
	for _, g := range p.globs[1:] {
		if g.exclude == included && fnmatch(g.glob, name) {
			included = !included
		}
	}
	return included
}

// exact reports whether the pattern is the name of a namespace, which can be served without
// listing the namespaces.
func (p NamespacePattern) exact() bool { return !strings.ContainsAny(p.source, "!*?,") }

// MatchAnyNamespace reports whether at least one of the patterns includes a namespace.
func MatchAnyNamespace(patterns []NamespacePattern, name string) bool {
	for _, p := range patterns {
		if p.Match(name) {
			return true
		}
	}
	return false
}

// ExactNamespaces returns the patterns that are names. They can be served when the namespaces
// cannot be listed.
func ExactNamespaces(patterns []NamespacePattern) []string {
	var names []string
	for _, p := range patterns {
		if p.exact() {
			names = append(names, p.source)
		}
	}
	return names
}
