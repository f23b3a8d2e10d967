package tui

import (
	"testing"
	"time"

	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// withSteps returns a state in which a handler and its sub-handler have steps.
func withSteps(now time.Time) *runner.State {
	s := demo(now)
	step := func(name string, as inspect.StepState, ago time.Duration, key string) inspect.Step {
		return inspect.Step{Name: name, State: as, At: now.Add(-ago), Key: key + "wzq5t2rsx7hd3jmvbnk6cyle4apfgou2d3x7"}
	}
	o := demoObject(s, "web-cache")
	o.State = inspect.StateRunning
	resize, sub := o.Handler("resize"), o.Handler("resize/pvc")
	resize.State, resize.Attempt, resize.Next, resize.Started, resize.Error = inspect.PhaseRunning, 3, time.Time{}, now.Add(-40*time.Second), nil
	resize.Steps = []inspect.Step{
		step("create-bucket", inspect.StepRecorded, 12*time.Second, "4f0k"), step("grant", inspect.StepRecorded, 5*time.Second, "b7xd"),
		step("notify-owner", inspect.StepRunning, 2*time.Second, "zqa2"),
	}
	sub.Steps = []inspect.Step{step("mount", inspect.StepUnrecorded, time.Second, "m3ta")}
	return s
}

func demoObject(s *runner.State, name string) *inspect.Object {
	for _, o := range s.Snapshot.Objects {
		if o.Name == name {
			return o
		}
	}
	return nil
}

func TestObject_ShowsStepsBeneathTheirHandlers(t *testing.T) {
	u := startWith(t, withSteps(noon), 120, 40, Options{}).press("/").write("web-cache").press("enter", "enter")
	u.sees("✓ recorded     └ create-bucket").sees("12s ago · key 4f0k…").sees("▸ running      └ notify-owner").sees("for 2s · key zqa2…").
		sees("◌ unrecorded     └ mount").
		press("j").sees("step create-bucket is recorded, 12s ago, key 4f0kwzq5t2rsx7hd3jmvbnk6cyle4apfgou2d3x7").
		press("w").sees("2 steps are recorded; a").sees("restart now repeats notify-owner.")
}

func TestObject_CursorStaysAtItsHandlerWhenStepsComeAndGo(t *testing.T) {
	u := startWith(t, withSteps(noon), 120, 40, Options{}).press("/").write("web-cache").press("enter", "enter").
		press("j", "j").sees("step grant is recorded").
		press("j", "j", "j", "j").cursorOn("notify")
	u.publish(func(s *runner.State) { withoutSteps(s, "create-bucket") }).cursorOn("notify").
		press("k", "k", "k", "k").sees("step grant is recorded")
	u.publish(func(s *runner.State) { withoutSteps(s, "grant") }).cursorOn("resize")
}

// withoutSteps replaces the object by one without a step.
func withoutSteps(s *runner.State, name string) {
	for i, o := range s.Snapshot.Objects {
		if o.Name != "web-cache" {
			continue
		}
		changed := *o
		changed.Handlers = append([]inspect.HandlerState(nil), o.Handlers...)
		resize := changed.Handler("resize")
		var left []inspect.Step
		for _, step := range resize.Steps {
			if step.Name != name {
				left = append(left, step)
			}
		}
		resize.Steps = left
		s.Snapshot.Objects[i] = &changed
	}
}
