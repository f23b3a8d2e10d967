package explain

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/kopf-dev/kopf/runner"
)

// ClusterProgress says how far a cluster is that is not ready yet.
func ClusterProgress(c runner.Cluster) string {
	switch {
	case c.Phase == runner.ClusterBuilding && c.Total > 0:
		return fmt.Sprintf("%d of %d packages, only the first time", c.Done, c.Total)
	case c.Phase == runner.ClusterReady || c.Phase == runner.ClusterNone:
		return ""
	case c.Total > 0:
		return fmt.Sprintf("%s, %d of %d MB", c.Message, c.Done, c.Total)
	case c.Elapsed >= time.Second:
		return fmt.Sprintf("%s, %d s", c.Message, int(c.Elapsed.Seconds()))
	}
	return c.Message
}

// ClusterWord returns the word for the cluster: ready only as long as it answers.
func (s *State) ClusterWord() Word {
	if s.Cluster.Phase == runner.ClusterReady && s.Lost() != "" {
		return ClusterWord(runner.ClusterGone)
	}
	return ClusterWord(s.Cluster.Phase)
}

// ManifestNames returns the paths of the manifests, relative to the session's directory
// where they are in it.
func (s *State) ManifestNames() []string { return s.relative(s.Manifests) }

func (s *State) relative(paths []string) []string {
	var names []string
	for _, m := range paths {
		if rel, err := filepath.Rel(s.Dir, m); err == nil && filepath.IsLocal(rel) {
			m = rel
		}
		names = append(names, m)
	}
	return names
}
