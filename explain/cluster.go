package explain

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/kopf-dev/kopf/runner"
)

// ClusterProgress describes the progress of a cluster that is not ready yet; empty for a cluster that is ready.
func ClusterProgress(c runner.Cluster) string {
	switch {
	case c.Phase == runner.ClusterBuilding && c.Total > 0:
		return Packages(c)
	case c.Phase == runner.ClusterReady || c.Phase == runner.ClusterNone:
		return ""
	case c.Total > 0:
		return fmt.Sprintf("%s, %d of %d MB", c.Message, c.Done, c.Total)
	case c.Elapsed >= time.Second:
		return fmt.Sprintf("%s, %d s", c.Message, int(c.Elapsed.Seconds()))
	}
	return c.Message
}

// Packages returns the number of compiled packages of the control plane, and the estimated time for the other packages.
func Packages(c runner.Cluster) string {
	text := fmt.Sprintf("%d of %d packages", c.Done, c.Total)
	if c.Remaining > 0 {
		text += ", " + TimeLeft(c.Remaining)
	}
	return text + ", first time only"
}

// TimeLeft returns an estimated time in minutes, such as "~9 min left".
func TimeLeft(d time.Duration) string {
	if d < time.Minute {
		return "<1 min left"
	}
	return fmt.Sprintf("~%d min left", int(d.Round(time.Minute).Minutes()))
}

// ClusterWord returns the word for the cluster: ready only as long as it answers.
func (s *State) ClusterWord() Word {
	if s.Cluster.Phase == runner.ClusterReady && s.Lost() != "" {
		return ClusterWord(runner.ClusterGone)
	}
	return ClusterWord(s.Cluster.Phase)
}

// ManifestNames returns the paths of the manifests. Paths inside the session's directory are relative to it.
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
