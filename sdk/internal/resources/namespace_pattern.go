package resources

import "strings"

// Pattern is a list of globs. It is made with [Parse].
type NamespacePattern struct {
	source string
	globs  []glob
}

type glob struct {
	exclude bool
	glob    string
}

// Parse reads globs separated by commas; those that begin with "!" exclude what the
// globs before them have included. A pattern that begins with an exclusion begins from
// all namespaces.
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

// String is the pattern as it was written.
func (p NamespacePattern) String() string { return p.source }

// Match tells whether the pattern includes a namespace. The first glob is decisive: what
// it does not match, the others cannot include.
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

// Exact tells whether the pattern is the name of one namespace: it can be served without
// a look at which namespaces there are.
func (p NamespacePattern) Exact() bool { return !strings.ContainsAny(p.source, "!*?,") }

// MatchAny tells whether at least one of the patterns includes a namespace.
func MatchAnyNamespace(patterns []NamespacePattern, name string) bool {
	for _, p := range patterns {
		if p.Match(name) {
			return true
		}
	}
	return false
}

// Exact returns the namespaces that are named by patterns that are no globs. They are what
// can be served when the namespaces of the cluster cannot be listed.
func ExactNamespaces(patterns []NamespacePattern) []string {
	var names []string
	for _, p := range patterns {
		if p.Exact() {
			names = append(names, p.source)
		}
	}
	return names
}
