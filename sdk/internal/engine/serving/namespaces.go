package serving

import (
	"sync"

	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// Namespaces are the served namespaces: the existing namespaces that match the patterns. It is safe for concurrent use.
type Namespaces struct {
	patterns []resources.NamespacePattern // empty for the whole cluster
	changed  core.Wakeup

	mu       sync.Mutex
	matching map[string]bool
}

// NewNamespaces returns the namespaces that match the patterns. The wakeup is raised when they change.
func NewNamespaces(patterns []string, changed core.Wakeup) *Namespaces {
	n := &Namespaces{changed: changed, matching: map[string]bool{}}
	for _, p := range patterns {
		n.patterns = append(n.patterns, resources.ParseNamespacePattern(p))
	}
	return n
}

// ClusterWide reports whether the operator serves the whole cluster.
func (n *Namespaces) ClusterWide() bool { return len(n.patterns) == 0 }

// AllNamed reports whether all patterns are names.
func (n *Namespaces) AllNamed() bool {
	return len(resources.ExactNamespaces(n.patterns)) == len(n.patterns)
}

// appearedOrDeleted adds a namespace that appeared, or removes one that was deleted, if it matches the patterns.
func (n *Namespaces) appearedOrDeleted(event watch.Event) {
	name := event.Object.Name
	if !resources.MatchAnyNamespace(n.patterns, name) {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	before := len(n.matching)
	if event.Type == watch.Deleted {
		delete(n.matching, name)
	} else {
		n.matching[name] = true
	}
	if len(n.matching) != before {
		n.changed.Raise()
	}
}

// assumeExist adds all exactly named namespaces. It is used when namespaces cannot be watched.
func (n *Namespaces) assumeExist() {
	n.mu.Lock()
	for _, name := range resources.ExactNamespaces(n.patterns) {
		n.matching[name] = true
	}
	n.mu.Unlock()
	n.changed.Raise()
}

// names returns the names of the served namespaces, sorted. An empty name stands for the whole cluster. The result is never nil, because
// nil namespaces of webhooks stand for the whole cluster.
func (n *Namespaces) names() []string {
	if n.ClusterWide() {
		return []string{""}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]string{}, object.SortedKeys(n.matching)...)
}
