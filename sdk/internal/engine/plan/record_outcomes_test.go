package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/state"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// The operator stops between two sub-handlers, so that the attempt at their handler does not count. The next attempt has no sub-handlers.
func TestRecord_SubHandlersOfAnAttemptThatDoesNotCount(t *testing.T) {
	f := handled(t, handlerOfFamily("fn", handlers.Update))
	f.edit(spec(2))
	one := f.plan(watch.Modified, nil)
	sub, err := state.Progress{}.WithPurpose("update").WithHandlers([]string{"fn/sub"}, f.now).WithOutcomes(outcomes("fn/sub", success), f.now)
	if err == nil {
		err = one.view.StoreProgress(sub, one.own)
	}
	if err != nil {
		t.Fatal(err)
	}
	done, _ := sub.Handler("fn/sub")
	r, err := one.plan.Record(one.s, one.view, &Outcomes{
		Subs: map[string]state.Record{"fn/sub": done.Record}, Final: []string{"fn/sub"}, Parked: []string{"parked"},
	}, nil, one.own)
	if err != nil || r.Finished {
		t.Fatalf("recorded %+v: %v", r, err)
	}
	f.edit(one.own.Tree())
	if !strings.Contains(f.text, "fn.sub") {
		t.Errorf("the sub-handler is not recorded: %s", f.text)
	}
	if one = f.plan(watch.Modified, nil); !slices.Equal(one.called, []string{"fn"}) {
		t.Errorf("the next process calls %v", one.called)
	}
	f.record(one, outcomes("fn", success))
	if strings.Contains(f.text, "fn.sub") {
		t.Errorf("the next change would not reach the sub-handler: %s", f.text)
	}
}
