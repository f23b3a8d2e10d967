package explain_test

import (
	"testing"
	"time"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

func step(name string, as inspect.StepState) inspect.Step {
	return inspect.Step{Name: name, State: as, Key: "4f0kabcd", At: now.Add(-12 * time.Second)}
}

func TestStepNote_SaysWhenAndWithWhichKey(t *testing.T) {
	unread := step("a", inspect.StepRecorded)
	unread.At = time.Time{}
	began := step("a", inspect.StepRunning)
	began.At = now
	for _, test := range []struct {
		step       inspect.Step
		note, text string
	}{
		{step("a", inspect.StepRecorded), "12s ago · key 4f0k…", "a is recorded, 12s ago, key 4f0kabcd"},
		{step("a", inspect.StepRunning), "for 12s · key 4f0k…", "a is running, for 12s, key 4f0kabcd"},
		{step("a", inspect.StepUnrecorded), "12s ago · key 4f0k…", "a is unrecorded, 12s ago, key 4f0kabcd"},
		{step("a", inspect.StepUnknown), "12s ago · renamed or removed?", "a is unknown to the handler, which no longer asks for it, but recorded, 12s ago, key 4f0kabcd"},
		{step("a", inspect.StepAbandoned), "12s ago · renamed or removed?", "a is abandoned by the handler, which no longer asks for it, and has perhaps happened, 12s ago, key 4f0kabcd"},
		{step("a", inspect.StepUnsure), "12s ago · key 4f0k…", "a is unsure, 12s ago, key 4f0kabcd"},
		{step("a", "of the future"), "12s ago · key 4f0k…", "a is of the future, 12s ago, key 4f0kabcd"},
		{unread, "key 4f0k…", "a is recorded, key 4f0kabcd"},
		{began, "key 4f0k…", "a is running, since a moment ago, key 4f0kabcd"},
		{inspect.Step{Name: "a", State: inspect.StepRecorded, Key: "4f0k"}, "key 4f0k", "a is recorded, key 4f0k"},
	} {
		if note, text := explain.StepNote(&test.step, now), explain.StepText(&test.step, now); note != test.note || text != test.text {
			t.Errorf("%q, %q; want %q, %q", note, text, test.note, test.text)
		}
	}
}

func TestVerdict_SaysWhichStepsARestartRepeats(t *testing.T) {
	bucket, grant := step("bucket", inspect.StepRecorded), step("grant", inspect.StepRecorded)
	for _, test := range []struct {
		state inspect.ObjectState
		phase inspect.HandlerPhase
		steps []inspect.Step
		want  string
	}{
		{inspect.StateRunning, inspect.PhaseRunning, nil, "create is running, attempt 1."},
		{inspect.StateRunning, inspect.PhaseRunning, []inspect.Step{step("bucket", inspect.StepRunning)}, "create is running, attempt 1. A restart now repeats step bucket."},
		{inspect.StateRunning, inspect.PhaseRunning, []inspect.Step{bucket, {Name: "mail", State: inspect.StepRunning, Once: true}},
			"create is running, attempt 1. Step bucket is recorded, and is not repeated. Step mail happens at most once; a restart now does not repeat it."},
		{inspect.StateRunning, inspect.PhaseRunning, []inspect.Step{bucket, step("grant", inspect.StepRunning)}, "create is running, attempt 1. Step bucket is recorded; a restart now repeats grant."},
		{inspect.StateRunning, inspect.PhaseRunning, []inspect.Step{bucket, grant}, "create is running, attempt 1. 2 steps are recorded, and are not repeated."},
		{inspect.StateRetrying, inspect.PhaseRetrying, []inspect.Step{bucket, grant, step("mail", inspect.StepUnrecorded)}, "create failed, attempt 1. 2 steps are recorded; a restart now repeats mail. Retrying in 12s."},
		{inspect.StateRetrying, inspect.PhaseRetrying, []inspect.Step{bucket, step("mail", "of the future")}, "create failed, attempt 1. Step bucket is recorded, and is not repeated. Retrying in 12s."},
		{inspect.StateRetrying, inspect.PhaseRetrying, []inspect.Step{grant, step("mail", inspect.StepUnknown)}, "create failed, attempt 1. Step grant is recorded, and is not repeated. Step mail is recorded, but the handler no longer asks for it. Retrying in 12s."},
		{inspect.StateRetrying, inspect.PhaseRetrying, []inspect.Step{step("mail", inspect.StepUnknown)}, "create failed, attempt 1. Step mail is recorded, but the handler no longer asks for it. Retrying in 12s."},
		{inspect.StateRetrying, inspect.PhaseRetrying, []inspect.Step{step("mail", inspect.StepAbandoned)}, "create failed, attempt 1. Step mail has perhaps happened, and the handler no longer asks for it. Retrying in 12s."},
		{inspect.StateFailed, inspect.PhaseFailed, []inspect.Step{step("mail", inspect.StepUnsure)}, "create failed permanently. Step mail has perhaps happened, and is not repeated. It runs again only when it is retried, or the object is handled from scratch."},
		{inspect.StateFailed, inspect.PhaseFailed, []inspect.Step{bucket}, "create failed permanently. Step bucket is recorded, and is not repeated. It runs again only when it is retried, or the object is handled from scratch."},
	} {
		o := inspect.Object{State: test.state, Handlers: []inspect.HandlerState{
			{ID: "create", Kind: "create", State: test.phase, Attempt: 1, Next: now.Add(12 * time.Second), Steps: test.steps},
		}}
		if got := explain.Verdict(&o, now, ""); got != test.want {
			t.Errorf("%q\nwant %q", got, test.want)
		}
	}
}

func TestAlarm_CountsObjectsWithUnsureSteps(t *testing.T) {
	object := func(name string, steps ...inspect.Step) *inspect.Object {
		return &inspect.Object{Ref: inspect.Ref{Name: name, UID: name}, State: inspect.StateFailed, Handlers: []inspect.HandlerState{{ID: "create", State: inspect.PhaseFailed, Steps: steps}}}
	}
	unsure := step("mail", inspect.StepUnsure)
	for want, objects := range map[string][]*inspect.Object{
		"": {object("a", step("bucket", inspect.StepRecorded))},
		"! unsure: 1 object has a step that has perhaps happened":   {object("a", unsure, unsure), object("b")},
		"! unsure: 2 objects have a step that has perhaps happened": {object("a", unsure), object("b", step("mail", inspect.StepAbandoned))},
	} {
		s := explain.NewState(&runner.State{Live: true, Snapshot: &inspect.Snapshot{Objects: objects}}, nil)
		if got := s.Alarm(now).Fact; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
