package kopf

import (
	"context"
	"testing"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
)

func TestDaemon_FiltersSelectDaemonsAndTimers(t *testing.T) {
	kex := Resource("kopf.dev/v1", "kopfexamples")
	run := func(context.Context, *DaemonRun[sized]) error { return nil }
	tick := func(context.Context, *TimerTick[sized]) error { return nil }
	ofTick := func(_ context.Context, c *TimerTick[sized]) bool { return c.Object.Spec.Size > 10 && c.Retry == 0 }
	for name, test := range map[string]struct {
		option FilterOption
		want   bool
	}{
		"equal label":               {Labels{"tier": "gold"}, true},
		"different label":           {Labels{"tier": "silver"}, false},
		"the object":                {When(isBig), true},
		"the object, not matching":  {When(not(isBig)), false},
		"the view of the object":    {When(hasTier), true},
		"the request":               {When(inNS1), true},
		"the request, not matching": {When(not(inNS1)), false},
	} {
		var r Registry
		Daemon(&r, kex, run, test.option, ID("daemon"))
		Timer(&r, kex, tick, test.option, ID("timer"), Idle(1e9))
		if err := r.Err(); err != nil {
			t.Fatal(err)
		}
		selected := r.registry.ForResource(examples).Selected(handlers.Spawning, causeOf(t, "", big))
		if got := len(selected) == 2; got != test.want || len(selected) == 1 {
			t.Errorf("%s: %d are selected", name, len(selected))
		}
	}

	var r Registry
	Timer(&r, kex, tick, When(ofTick), ID("timer"), Idle(1e9))
	if n := len(r.registry.ForResource(examples).Selected(handlers.Spawning, causeOf(t, "", big))); n != 1 {
		t.Error("a filter of its own request does not select a timer")
	}
}
