package explain

import (
	"strings"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

func TestVerdict_SaysWhoDeniesTheOperator(t *testing.T) {
	now := time.Now()
	for _, state := range []inspect.ObjectState{inspect.StateStuck, inspect.StateRetrying} {
		o := &inspect.Object{State: state, Finalizer: true, Failing: &inspect.Failing{
			Since: now, DeniedBy: "freeze.example.com", Message: "it is frozen", Next: now.Add(5 * time.Second),
		}}
		got := Verdict(o, now, "")
		if !strings.Contains(got, "denied by freeze.example.com: it is frozen") || !strings.Contains(got, "5s") {
			t.Errorf("%s: %s", state, got)
		}
	}
}
