package tui

import (
	"testing"

	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

func TestBrake_ReleasedAfterAQuestion(t *testing.T) {
	u := start(t, "brake", 80, 24).sees("✗ pruning of deployments stopped").sees("B release brake").press("B").
		sees("configmaps of 12 " + evcKey).press("enter").seesNot("Delete the children")
	if len(u.source.intents) != 0 {
		t.Fatalf("the question alone did %+v", u.source.intents)
	}
	u.press("j", "j", "j", "j", "j", "o", "B", "y").sees("✓ continuing to prune the children of ephemeralvolumeclaims")
	if got := u.source.intents; len(got) != 1 || got[0] != (runner.Intent{Kind: runner.IntentUnbrake, Value: evcKey}) {
		t.Errorf("the intents are %+v", got)
	}
	u.press("B").publish(func(s *runner.State) { s.Snapshot.Operator.Alarms = nil }).press("y").sees("the brake keeps no children of ephemeralvolumeclaims any longer")
	if len(u.source.intents) != 1 {
		t.Errorf("a brake that has ended meanwhile was released: %+v", u.source.intents)
	}
	u.press("esc").seesNot("release brake").press("B").sees("no action on B")
}

func TestBrake_AsksWhichResource(t *testing.T) {
	u := start(t, "brake", 120, 40)
	u.publish(func(s *runner.State) {
		s.Cluster.Provider = "context"
		s.Snapshot.Operator.Alarms = append(s.Snapshot.Operator.Alarms, inspect.Alarm{Kind: inspect.AlarmBrake, Object: &inspect.Ref{Resource: podKey}, Resource: "services.v1", Count: 1})
	}).press("B").sees("In the cluster of the context dev").sees("1 of ephemeralvolumeclaims").press("2").sees("✓ continuing to prune the children of pods")
	if got := u.source.intents; len(got) != 1 || got[0].Value != podKey {
		t.Errorf("the intents are %+v", got)
	}
	u.publish(func(s *runner.State) { s.ReadOnly, s.Attached = true, "unix:/run/op" }).sees("(B release brake)").press("B").sees("read-only without --allow-actions")
}
