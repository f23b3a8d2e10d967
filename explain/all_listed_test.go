package explain_test

import (
	"testing"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

func TestComplete_OnlyWhenAllResourcesAreListed(t *testing.T) {
	one := make([]inspect.Handler, 1)
	for name, test := range map[string]struct {
		snapshot *inspect.Snapshot
		want     bool
	}{
		"nothing published":    {nil, false},
		"starting":             {&inspect.Snapshot{Operator: inspect.Operator{State: inspect.OperatorStarting}}, false},
		"nothing found yet":    {&inspect.Snapshot{Handlers: one}, false},
		"nothing to be found":  {&inspect.Snapshot{Handlers: one, Unserved: make([]inspect.Unserved, 1)}, true},
		"nothing to be listed": {&inspect.Snapshot{Handlers: one, Reviewed: []string{"pods.v1"}}, true},
		"no handlers":          {&inspect.Snapshot{}, true},
		"one is not listed":    {&inspect.Snapshot{Handlers: one, Served: []inspect.Resource{{Listed: true}, {}}}, false},
		"everything is listed": {&inspect.Snapshot{Handlers: one, Served: []inspect.Resource{{Listed: true}, {Listed: true}}}, true},
	} {
		if got := explain.AllListed(test.snapshot); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
