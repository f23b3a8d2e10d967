package kopf

import (
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// Everything replaces a resource's name in a selector. It selects all resources of an API group and version, or of the
// cluster, except Kubernetes events.
const Everything = "*"

// Selector selects the resources of a handler. It is usually the result of [Resource]; use a literal for selectors that
// [Resource] cannot express, such as a category. All fields that are set must match. See [Selectors].
//
// [Selectors]: https://github.com/kopf-dev/kopf/blob/main/docs/resources.md#selectors
type Selector struct {
	Group, Version string // API group and version; an empty group means any, an empty version the preferred one
	Name           string // any of the names below, as kubectl accepts them, or [Everything]
	Kind           string // kind in manifests, such as "KopfExample"
	Plural         string // "kopfexamples"
	Singular       string // "kopfexample"
	Shortcut       string // "kex"
	Category       string // all resources of a category, such as "all"

	core bool // selects the core API, whose group is empty
	err  error
}

// Resource selects resources by name: plural, singular, kind or short name. The name comes
// last, after the API group and version if they are given:
//
//	Resource("kopf.dev/v1", "kopfexamples")    // the clearest form
//	Resource("kopf.dev", "v1", "kopfexamples") // the same
//	Resource("kopf.dev", "kopfexamples")       // in the preferred version
//	Resource("kopfexamples.kopf.dev")          // as in kubectl
//	Resource("v1", "pods")                     // of the core API
//	Resource("kopf.dev/v1", kopf.Everything)
//	Resource("kex")                            // in any group: for prototypes
//
// If several groups have a resource with this name, the core API takes precedence. If no match is in the core API, the
// selector selects nothing, and the operator logs a warning. Malformed arguments are registration errors: see
// [Registry.Err].
func Resource(groupVersionName ...string) Selector {
	s, err := resources.ParseSelector(groupVersionName...)
	if err != nil {
		err = fmt.Errorf("kopf.Resource(%s): %w; want a name such as \"pods\", with the API group and version before it",
			quotedList(groupVersionName), err)
	}
	return Selector{Group: s.Group, Version: s.Version, Name: s.Name, core: s.Core, err: err}
}

// engine converts the selector for the engine.
func (s Selector) engine() (resources.Selector, error) {
	if s.err != nil {
		return resources.Selector{}, s.err
	}
	engine := resources.Selector{
		Group: s.Group, Core: s.core, Version: s.Version,
		Name: s.Name, Kind: s.Kind, Plural: s.Plural, Singular: s.Singular, Shortcut: s.Shortcut, Category: s.Category,
	}
	if err := engine.Validate(); err != nil {
		return engine, fmt.Errorf("the selector %q: %w", engine.String(), err)
	}
	return engine, nil
}

// String returns the selector in the notation of [Resource], or the error if it is malformed.
func (s Selector) String() string {
	if s == (Selector{}) {
		return ""
	}
	engine, err := s.engine()
	if err != nil {
		return err.Error()
	}
	return engine.String()
}

func quotedList(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = strconv.Quote(w)
	}
	return strings.Join(quoted, ", ")
}

// ResourceInfo describes a resource as the API server reports it.
type ResourceInfo struct {
	schema.GroupVersionResource // its Resource is the plural name

	Kind         string
	Singular     string
	Shortcuts    []string
	Categories   []string
	Subresources []string
	Verbs        []string
	Namespaced   bool
	Preferred    bool // belongs to the preferred version of its group
}

func infoOf(r resources.Resource) ResourceInfo {
	return ResourceInfo{
		GroupVersionResource: schema.GroupVersionResource{Group: r.Group, Version: r.Version, Resource: r.Plural},
		Kind:                 r.Kind,
		Singular:             r.Singular,
		Shortcuts:            r.Shortcuts,
		Categories:           r.Categories,
		Subresources:         r.Subresources,
		Verbs:                r.Verbs,
		Namespaced:           r.Namespaced,
		Preferred:            r.Preferred,
	}
}
