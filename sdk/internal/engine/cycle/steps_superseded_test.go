package cycle

import (
	"context"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

// The API server refuses the record of a step. The progress record is the same in the handling that supersedes the first one.
func TestStep_UnwrittenResultIsForOneHandling(t *testing.T) {
	for name, test := range map[string]struct {
		next       handlers.Reason
		superseded map[string]state.Counts
		calls      int
	}{
		"next attempt": {next: handlers.ReasonResume, calls: 1},
		"superseded":   {next: handlers.ReasonUpdate, superseded: map[string]state.Counts{"resume": {Running: 1}}, calls: 2},
	} {
		t.Run(name, func(t *testing.T) {
			s := newRecordServer(t)
			c := newStepCycle(t, t.Context(), s)
			calls := 0
			h := &handlers.Handler{ID: "fn", Invoke: func(ctx context.Context, call *handlers.Call) (any, error) {
				_, err := call.Extra.(handlers.Keyed).Step(ctx, call.Started, handlers.StepCall{Name: "make", Do: func(context.Context) ([]byte, error) {
					calls++
					return []byte("1"), nil
				}})
				return nil, err
			}}
			attempt := func(reason handlers.Reason) handlers.Outcome {
				c.plan.Cause = &handlers.Cause{Context: t.Context(), Reason: reason, Object: c.object, Tree: c.view.Tree, New: map[string]any{}}
				c.plan.Progress = state.Progress{}.WithPurpose(string(reason)).WithHandlers([]string{"fn"}, time.Unix(1e9, 0))
				out, err := c.invokeChangeHandler(t.Context(), h, c.plan.Progress)
				if err != nil {
					t.Fatal(err)
				}
				return out
			}
			s.refuse = true
			if out := attempt(handlers.ReasonResume); out.Err == nil {
				t.Error("the handler has succeeded without the record of its step")
			}
			s.refuse = false
			c.view.DropSteps("fn") // as in the next cycle
			c.plan.Superseded = test.superseded
			if out := attempt(test.next); out.Err != nil || calls != test.calls {
				t.Errorf("%d calls of the step, want %d: %v", calls, test.calls, out.Err)
			}
			if key := "kopf.zalando.org/handler-steps.fn"; object.Annotations(s.tree)[key] == nil {
				t.Errorf("the step is not recorded: %v", s.tree)
			}
		})
	}
}
