package k3d

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-dev/kopf/devcluster"
)

func TestSteps_RepeatedEachSecondUntilReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reports []devcluster.Progress
		s := newSteps(devcluster.Options{Progress: func(p devcluster.Progress) { reports = append(reports, p) }})
		s.begin(devcluster.PhaseStart, "starting %s", "lab")
		time.Sleep(2500 * time.Millisecond) // synctest's clock
		s.begin(devcluster.PhaseReady, "ready")
		time.Sleep(5 * time.Second)
		s.end()
		if len(reports) != 4 || reports[0].Elapsed != 0 || reports[2].Elapsed != 2*time.Second || reports[3].Phase != devcluster.PhaseReady || reports[1].Message != "starting lab" {
			t.Errorf("the reports are %+v", reports)
		}
	})
}
