package conditions

import (
	"errors"
	"testing"

	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
)

func TestWrite_KeepsTheVerdictOfAnotherReplicaUntilTheNextPass(t *testing.T) {
	r := newRun(t, keyed)
	write := func(passes bool) {
		t.Helper()
		_, _, later := r.Write(t.Context(), &core.Handling{
			Reconciles: true, Essence: 7, Generation: 1, Newest: r.newest(), Subject: &observe.Subject{Logger: r.keeper.deps.Logger},
		})
		if later != passes {
			t.Errorf("another call writes the conditions: %t, want %t", later, passes)
		}
	}
	write(true) // before the first pass
	r.Passed(7, handlers.Outcome{Final: true}, core.Health{})
	write(false)
	ready := string(r.status) // as the other replica writes it
	r.Passed(7, handlers.Outcome{Final: true, Err: handlers.AsPermanent(errors.New("no quota"))}, core.Health{})
	write(false)
	r.change(ready)
	before := r.applies
	r.Relisted(true)
	write(true) // the first cycle after the pause; the lists of the children are not complete, so there is no pass
	if r.applies != before {
		t.Errorf("the replica overwrites the conditions by its verdict from before the pause: %s", r.status)
	}
}
