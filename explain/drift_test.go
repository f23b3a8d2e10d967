package explain

import (
	"slices"
	"testing"

	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

func TestDrift_AlarmAndSentences(t *testing.T) {
	served := []inspect.Resource{
		{Key: "kex.v1.kopf.dev"},
		{Key: "claims.v1.kopf.dev", Drift: []inspect.Drift{
			{Field: "spec.siez", Type: "claims.Claim", Handlers: []string{"create", "resize"}},
			{Field: "status.phase", Type: "claims.Claim", Handlers: []string{"resize"}},
		}},
	}
	s := &State{State: &runner.State{Live: true, Snapshot: &inspect.Snapshot{Served: served}}}
	if got, want := s.drifted(), (Alarm{Warn, "! spec.siez is not in the schema of claims.v1.kopf.dev", "always empty in create, resize · and 1 more"}); got != want {
		t.Errorf("the alarm is %+v, want %+v", got, want)
	}
	want := []string{"spec.siez is in claims.Claim but not in the schema of claims.v1.kopf.dev: it is always empty"}
	if got := DriftOf(served, "create"); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := DriftOf(served, "delete"); got != nil {
		t.Errorf("got %q of a handler without drift", got)
	}
	s.Snapshot.Served[1].Drift = nil
	if got := s.drifted(); got != (Alarm{}) {
		t.Errorf("the alarm is %+v", got)
	}
}
