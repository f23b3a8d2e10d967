package explain

import (
	"testing"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

func TestChild_WordAndDetail(t *testing.T) {
	image := inspect.FieldDrift{Path: "spec.image", Manager: "kubectl-edit", Outcome: inspect.DriftReverted, Count: 2}
	replicas := inspect.FieldDrift{Path: "spec.replicas", Manager: "autoscaler", Scale: true, Outcome: inspect.DriftYielded, Count: 1}
	removed := inspect.FieldDrift{Path: "spec.host", Outcome: inspect.DriftReported, Count: 1}
	for want, c := range map[string]inspect.Child{
		"✓ ready: ":                     {State: inspect.ChildReady, Result: inspect.ResultUnchanged},
		"▸ progressing: 1 of 3 are up":  {State: inspect.ChildProgressing, Message: "1 of 3 are up"},
		"✓ ready: refused: not ours":    {State: inspect.ChildReady, Result: inspect.ResultRefused, Error: "not ours"},
		"! refused: the name is in use": {Result: inspect.ResultRefused, Error: "the name is in use"},
		"⊖ pruned: no longer applied":   {Result: inspect.ResultPruned},
		"! missing: ":                   {Result: inspect.ResultCreated},
		"✓ ready: took spec.image back from kubectl-edit, 2 times": {
			State: inspect.ChildReady, Drift: []inspect.FieldDrift{image},
		},
		"· unknown: no status · left spec.replicas to autoscaler (scale) and 1 more": {
			State: inspect.ChildUnknown, Message: "no status", Drift: []inspect.FieldDrift{image, replicas},
		},
		"✗ failed: left spec.host to others": {State: inspect.ChildFailed, Drift: []inspect.FieldDrift{removed}},
	} {
		if got := ChildWord(&c).String() + ": " + ChildDetail(&c); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
