package explain

import (
	"testing"
	"time"

	"github.com/kopf-dev/kopf/runner"
)

func TestClusterProgress_SaysTheRemainingTime(t *testing.T) {
	for left, want := range map[time.Duration]string{
		0:                 "412 of 1204 packages, first time only",
		59 * time.Second:  "412 of 1204 packages, <1 min left, first time only",
		119 * time.Second: "412 of 1204 packages, ~2 min left, first time only",
	} {
		c := runner.Cluster{Phase: runner.ClusterBuilding, Done: 412, Total: 1204, Remaining: left, Message: "compiling x"}
		if got := ClusterProgress(c); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
