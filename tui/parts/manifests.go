package parts

import (
	"strings"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/tui/render"
)

// ManifestNames enumerates the manifests that can be applied.
func ManifestNames(s *explain.State) string {
	names := s.ManifestNames()
	for i, name := range names {
		names[i] = render.CutStart(name, 40)
	}
	return strings.Join(names, ", ")
}
