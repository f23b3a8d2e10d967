package explain

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

func TestBrakes_GroupedByTheResourceOfTheParents(t *testing.T) {
	brake := func(parents, children string, objects int) inspect.Alarm {
		return inspect.Alarm{Kind: inspect.AlarmBrake, Object: &inspect.Ref{Resource: parents}, Resource: children, Count: objects}
	}
	s := NewState(&runner.State{Live: true, Snapshot: &inspect.Snapshot{Operator: inspect.Operator{Alarms: []inspect.Alarm{
		brake("shops.v1.example.com", "deployments.v1.apps", 4), {Kind: inspect.AlarmHotLoop, Object: &inspect.Ref{Resource: "shops.v1.example.com"}},
		brake("apps.v1.example.com", "jobs.v1.batch", 1), brake("shops.v1.example.com", "configmaps.v1", 12),
	}}}}, nil)
	want := []Brake{
		{"apps.v1.example.com", []KeptChildren{{"jobs", 1}}},
		{"shops.v1.example.com", []KeptChildren{{"configmaps", 12}, {"deployments", 4}}},
	}
	if diff := cmp.Diff(want, s.Brakes()); diff != "" {
		t.Error(diff)
	}
	if got := Brakes(s.Snapshot, "apps"); len(got) != 1 || got[0].Resource != want[0].Resource {
		t.Errorf("the brakes of apps are %+v", got)
	}
	s.Live = false
	if got := s.Brakes(); got != nil {
		t.Errorf("the operator does not run, but has %+v", got)
	}
}
