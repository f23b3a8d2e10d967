package e2e

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

// waitSteps waits until the steps of the handler of the only object have the states. It returns the steps.
func waitSteps(op *kopftest.Operator, states ...inspect.StepState) (steps []inspect.Step) {
	op.WaitInspect("the steps are shown", func(s *inspect.Snapshot) bool {
		if len(s.Objects) != 1 || len(s.Objects[0].Handlers) == 0 {
			return false
		}
		steps = s.Objects[0].Handlers[0].Steps
		same := len(steps) == len(states)
		for i := range steps {
			same = same && steps[i].State == states[i]
		}
		return same
	})
	return steps
}

func TestInspector_ShowsAndLogsRenamedSteps(t *testing.T) {
	cluster := newCluster(t)
	register := func(step string, again time.Duration) func(*kopf.Registry) {
		return func(r *kopf.Registry) {
			kopf.OnCreate(r, kexes, func(ctx context.Context, c *change) error {
				for _, name := range []string{step, "grant"} {
					if _, err := kopf.Step(ctx, c, name, func(context.Context, kopf.StepKey) (int, error) { return 1, nil }); err != nil {
						return err
					}
				}
				return kopf.Temporaryf(again, "not ready")
			}, kopf.ID("create"))
		}
	}
	op := cluster.Run(register("create-bucket", 3*time.Second))
	cluster.Create(example("x"))
	waitSteps(op, inspect.StepRecorded, inspect.StepRecorded)
	op.WaitLogs("not ready", 1)
	op.Stop()
	again := cluster.Run(register("make-bucket", time.Millisecond))
	again.WaitLogs("not ready", 5)
	steps := waitSteps(again, inspect.StepUnknown, inspect.StepRecorded, inspect.StepRecorded)
	if steps[0].Name != "create-bucket" || steps[2].Name != "make-bucket" {
		t.Errorf("%+v", steps)
	}
	if n := again.CountLog("no longer asks for it"); n != 1 {
		t.Errorf("logged %d times", n)
	}
}

func TestInspector_LogsStepsOfHandlersWithoutSteps(t *testing.T) {
	cluster := newCluster(t)
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, func(ctx context.Context, c *change) error {
			if _, err := kopf.Step(ctx, c, "create-bucket", func(context.Context, kopf.StepKey) (int, error) { return 1, nil }); err != nil {
				return err
			}
			return kopf.Temporaryf(time.Second, "not ready")
		}, kopf.ID("create"))
	})
	x := cluster.Create(example("x"))
	op.WaitLogs("not ready", 1)
	op.Stop()
	again := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, func(context.Context, *change) error { return nil }, kopf.ID("create"))
	})
	waitHandled(x)
	if n := again.CountLog(`Step "create-bucket" is recorded on the object, and handler 'create' no longer asks for it`); n != 1 {
		t.Errorf("logged %d times", n)
	}
}

func TestInspector_ShowsAndLogsStartsOfRenamedSteps(t *testing.T) {
	cluster := newCluster(t)
	// mail returns a handler that sends a mail in a step, and then fails.
	mail := func(step string, answer error) func(*kopf.Registry) {
		return func(r *kopf.Registry) {
			kopf.OnCreate(r, kexes, func(ctx context.Context, c *change) error {
				_, err := kopf.StepAtMostOnce(ctx, c, step, func(context.Context, kopf.StepKey) (int, error) { return 1, answer })
				if err != nil && !errors.Is(err, kopf.ErrStepUnsure) {
					return err
				}
				return kopf.Temporaryf(time.Millisecond, "not ready")
			}, kopf.ID("create"))
		}
	}
	op := cluster.Run(mail("send-mail", errors.New("connection lost")))
	x := cluster.Create(example("x"))
	waitSteps(op, inspect.StepUnsure)
	op.WaitLogs("not ready", 1)
	op.Stop()
	again := cluster.Run(mail("mail", nil))
	again.WaitLogs("not ready", 5)
	steps := waitSteps(again, inspect.StepAbandoned, inspect.StepRecorded)
	if steps[0].Name != "send-mail" || steps[1].Name != "mail" {
		t.Errorf("%+v", steps)
	}
	again.Stop()
	last := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, func(context.Context, *change) error { return nil }, kopf.ID("create"))
	})
	waitHandled(x)
	const line = `Step "send-mail" has started and perhaps happened, and handler 'create' no longer asks for it`
	for _, op := range []*kopftest.Operator{again, last} {
		if n := op.CountLog(line); n != 1 {
			t.Errorf("logged %d times", n)
		}
	}
}

func TestInspector_ShowsStepsWhileTheyRunAndAfterARestart(t *testing.T) {
	cluster := newCluster(t)
	var keys sync.Map
	grants := make(chan error)
	register := func(r *kopf.Registry) {
		kopf.OnUpdate(r, kexes, func(ctx context.Context, c *change) error {
			bucket, err := kopf.Step(ctx, c, "create-bucket", func(_ context.Context, key kopf.StepKey) (string, error) {
				keys.Store("create-bucket", string(key))
				return "b-1", nil
			})
			if err != nil {
				return err
			}
			_, err = kopf.Step(ctx, c, "grant", func(_ context.Context, key kopf.StepKey) (string, error) {
				keys.Store("grant", string(key))
				return bucket, <-grants
			})
			return err
		}, kopf.ID("update"), kopf.RetryDelay(time.Hour))
	}
	op := cluster.Run(register)
	x := cluster.Create(example("x"))
	waitHandled(x)
	x.Patch(field("two"))
	steps := waitSteps(op, inspect.StepRecorded, inspect.StepRunning)
	for i, name := range []string{"create-bucket", "grant"} {
		if key, _ := keys.Load(name); steps[i].Name != name || steps[i].Key != key || steps[i].At.IsZero() {
			t.Errorf("step %d: %+v, want the key %v", i, steps[i], key)
		}
	}
	grants <- errors.New("no answer")
	if left := waitSteps(op, inspect.StepRecorded); left[0].Name != "create-bucket" {
		t.Errorf("after the failure: %+v", left)
	}
	op.WaitLogs("no answer", 1)
	op.Stop()
	again := cluster.Run(register) // the handler is not called before an hour
	if former := waitSteps(again, inspect.StepRecorded); former[0].Key != steps[0].Key || former[0].At.After(steps[1].At) {
		t.Errorf("after the restart: %+v, want %+v", former, steps[0])
	}
}
