package database

import (
	"slices"
	"testing"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

// TestDatabase_StepsWait adds one ready child after the other.
func TestDatabase_StepsWait(t *testing.T) {
	const database = "{metadata: {name: orders}, spec: {version: '17', size: 1Gi}}"
	reconcile := newOperator(&kopf.Registry{}).reconcile
	steps := []string{"Secret orders", "StatefulSet orders", "Job orders", "Service orders", "ConfigMap kube-public/default-orders"}
	ready := []kopftest.Child{{Kind: "Job", Name: "old"}}
	for i, kind := range []string{"StatefulSet", "Job"} { // Secrets, Services and ConfigMaps are ready when they exist
		p := kopftest.Pass[kopf.Object](t, Register, database, ready...)
		got := kopftest.Passed(t, p, reconcile(t.Context(), p))
		if got.Outcome != kopftest.PassWaits || !slices.Equal(got.Applied, steps[:i+2]) || len(got.Pruned) > 0 {
			t.Errorf("without a ready %s: the pass is %s (%v), applies %q and prunes %q", kind, got.Outcome, got.Err, got.Applied, got.Pruned)
		}
		ready = append(ready, kopftest.Child{Kind: kind})
	}
	p := kopftest.Pass[kopf.Object](t, Register, database, ready...)
	got := kopftest.Passed(t, p, reconcile(t.Context(), p))
	if got.Outcome != kopftest.PassComplete || !slices.Equal(got.Applied, steps) || !slices.Equal(got.Pruned, []string{"Job old"}) {
		t.Errorf("the pass is %s (%v), applies %q and prunes %q", got.Outcome, got.Err, got.Applied, got.Pruned)
	}
	if version := kopftest.Patched(t, p.Patch).Get("status.version"); version != "17" {
		t.Errorf("got version %v, want 17", version)
	}
}
