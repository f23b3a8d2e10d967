package k3d

import (
	"strings"
	"testing"

	k3dclient "github.com/k3d-io/k3d/v5/pkg/client"
)

func TestClusterName_FitsK3d(t *testing.T) {
	seen := make(map[string]string)
	for _, name := range []string{"dev", strings.Repeat("a", 27), strings.Repeat("a", 28), strings.Repeat("a", 40), strings.Repeat("a", 39) + "b"} {
		got := clusterName(name)
		if err := k3dclient.CheckName(got); err != nil || !strings.HasPrefix(got, "kopf-") {
			t.Errorf("%q becomes %q: %v", name, got, err)
		}
		if other, ok := seen[got]; ok {
			t.Errorf("%q and %q both become %q", name, other, got)
		}
		seen[got] = name
	}
}
