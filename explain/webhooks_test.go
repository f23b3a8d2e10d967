package explain

import (
	"testing"

	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

func TestReview_IsNamedAndJudged(t *testing.T) {
	s := &State{State: &runner.State{Snapshot: &inspect.Snapshot{Served: []inspect.Resource{{Key: "claims.v1.example.com", Short: "cl"}}}}}
	for want, r := range map[string]inspect.Review{
		"✓ allowed: create cl a/b":                {Operation: "CREATE", Kind: "Claim", Object: inspect.Ref{Resource: "claims.v1.example.com", Namespace: "a", Name: "b"}, Allowed: true},
		"✓ patched: create claim a/(no name yet)": {Operation: "CREATE", Kind: "Claim", Object: inspect.Ref{Namespace: "a"}, Allowed: true, Patch: []inspect.DiffItem{{}}},
		"! warned: update status, dry node b":     {Operation: "UPDATE", Subresource: "status", DryRun: true, Kind: "Node", Object: inspect.Ref{Name: "b"}, Allowed: true, Warnings: []string{"x"}, Patch: []inspect.DiffItem{{}}},
		"⊘ denied: delete claim a/b":              {Operation: "DELETE", Kind: "Claim", Object: inspect.Ref{Namespace: "a", Name: "b"}, Warnings: []string{"x"}},
	} {
		if got := ReviewWord(&r).String() + ": " + s.ReviewTitle(&r); got != want {
			t.Errorf("%s instead of %s", got, want)
		}
	}
}
