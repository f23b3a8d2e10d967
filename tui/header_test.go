package tui

import (
	"testing"

	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

func TestHeader_ShowsTheCatchUp(t *testing.T) {
	u := start(t, "brake", 120, 40).seesNot("catching up")
	u.publish(func(s *runner.State) { s.Snapshot.Operator.CatchUp = &inspect.CatchUp{Handled: 3120, Objects: 5000} }).
		sees("running catching up: 3,120 of 5,000")
	u.publish(func(s *runner.State) { s.Live = false }).seesNot("catching up")
	u.publish(func(s *runner.State) { s.Live, s.Snapshot.Operator.CatchUp = true, nil }).seesNot("catching up")
}
