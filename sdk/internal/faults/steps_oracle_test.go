package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

// stepCall is one call of a step.
type stepCall struct {
	call
	name string // id of the step in its handler
	key  kopf.StepKey
}

// String returns the call in a few words.
func (c stepCall) String() string {
	return c.name + " with the key " + string(c.key) + ", " + c.call.String()
}

// step runs a step of a handler. It notes a result that belongs to another handling, whose key differs.
func (l *ledger) step(ctx context.Context, id, name string, life int, c *kopf.Change[subject]) error {
	if !l.withSteps || c.Reason == kopf.ReasonDelete {
		return nil
	}
	result, err := kopf.Step(ctx, c, name, func(_ context.Context, key kopf.StepKey) (string, error) {
		one := stepCall{call: callOf(id, life, c), name: name, key: key}
		l.mu.Lock()
		defer l.mu.Unlock()
		one.id = fmt.Sprint("step-", len(l.steps)+1)
		l.steps = append(l.steps, one)
		return one.id, nil
	})
	if err != nil {
		return err
	}
	key := kopf.KeyFor(c, name)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, one := range l.steps {
		if one.id == result && (one.key != key || one.uid != string(c.UID) || one.handler != id) {
			l.doubled = append(l.doubled, fmt.Sprintf("%s got the result of another handling in life %d, which has the key %s: %s", id, life, key, one))
		}
	}
	return nil
}

// stepsOf returns the calls of steps so far by UID, in their order.
func (l *ledger) stepsOf() map[string][]stepCall {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := map[string][]stepCall{}
	for _, c := range l.steps {
		all[c.uid] = append(all[c.uid], c)
	}
	return all
}

// resultsOf returns the recorded results in an annotation, keyed by handler and step.
func resultsOf(text string, into map[string]string) error {
	var recorded struct {
		Handler string
		Steps   map[string]struct{ Result string }
	}
	if err := json.Unmarshal([]byte(text), &recorded); err != nil {
		return err
	}
	for name, step := range recorded.Steps {
		into[recorded.Handler+" "+name] = step.Result
	}
	return nil
}

// repeatedSteps looks for steps that were called with a key again.
func (i *inspection) repeatedSteps() {
	former := map[string][]stepCall{}
	for _, c := range i.steps {
		key := c.handler + " " + string(c.key)
		for _, a := range former[key] {
			why := i.explainStep(a, c)
			if why == "" {
				i.Duplicates = append(i.Duplicates, fmt.Sprintf("%s %s: %s and %s", i.object.kind, i.object.name, a, c))
				break
			}
			i.Explained[why]++
		}
		former[key] = append(former[key], c)
	}
}

// explainStep returns why a step was repeated; empty if there is no good reason.
func (i *inspection) explainStep(first, again stepCall) string {
	stored, ok := i.stepStored(first)
	switch {
	case first.life == again.life:
		return ""
	case !ok || stored > i.starts[again.life]:
		return "step repeated: the process ended before the record was stored"
	case again.version < stored:
		return "step repeated: the next process saw a version older than the record"
	case i.stepSetBack(first, again, stored), i.setBack(first.handler, stored, again.call):
		return "step repeated: a process with an old view had set the object back"
	default:
		return ""
	}
}

// stepStored returns the first version that has the result of a call.
func (i *inspection) stepStored(c stepCall) (number uint64, ok bool) {
	for _, v := range i.object.versions {
		if v.steps[c.handler+" "+c.name] == c.id {
			return v.number, true
		}
	}
	return 0, false
}

// stepSetBack reports whether a process with an old view replaced a stored result before a version. Its calls need no success
// for it: a failed one is recorded with the steps that the process knows.
func (i *inspection) stepSetBack(first, again stepCall, stored uint64) bool {
	n := slices.IndexFunc(i.object.versions, func(v version) bool {
		return v.number > stored && v.number <= again.version && v.steps[first.handler+" "+first.name] != first.id
	})
	return n >= 0 && slices.ContainsFunc(i.tries, func(c call) bool {
		return c.life > first.life && c.life <= again.life && c.at.Before(again.at) && i.oldView(c)
	})
}

func TestInspection_RepeatedSteps(t *testing.T) {
	recorded := version{value: "v1", steps: map[string]string{"create_1 make": "step-1"}}
	of := func(id string, life int, number uint64, key kopf.StepKey) stepCall {
		return stepCall{call: call{id: id, handler: "create_1", reason: kopf.ReasonCreate, life: life, version: number, at: time.Now()}, name: "make", key: key}
	}
	for name, test := range map[string]struct {
		object *object
		again  stepCall
		failed []call // calls of handlers without success
		starts []uint64
		want   string // text in the explanation; empty if there is none
		none   bool   // is set if the second call is no repetition
	}{
		"in the same life":             {object: at(version{}, version{}), again: of("step-2", 1, 20, "k"), starts: []uint64{0, 0, 15}},
		"in the same life, recorded":   {object: at(version{}, recorded), again: of("step-2", 1, 20, "k"), starts: []uint64{0, 0, 15}},
		"without a record":             {object: at(version{}, version{}), again: of("step-2", 2, 10, "k"), starts: []uint64{0, 0, 15}, want: "before the record"},
		"record after the next start":  {object: at(version{}, recorded), again: of("step-2", 2, 10, "k"), starts: []uint64{0, 0, 15}, want: "before the record"},
		"record before the next start": {object: at(version{}, recorded, version{}), again: of("step-2", 2, 20, "k"), starts: []uint64{0, 0, 25}},
		"old view":                     {object: at(version{}, recorded), again: of("step-2", 2, 10, "k"), starts: []uint64{0, 0, 25}, want: "older than the record"},
		"end of the handling":          {object: at(version{}, recorded, version{}), again: of("step-2", 2, 30, "k"), starts: []uint64{0, 0, 35}},
		"set back by a failed call": {object: at(version{}, recorded, version{}), again: of("step-2", 2, 30, "k"),
			failed: []call{{handler: "create_1", life: 2, version: 10}}, starts: []uint64{0, 0, 25}, want: "old view"},
		"removed without a call": {object: at(version{}, recorded, version{}), again: of("step-2", 2, 30, "k"), starts: []uint64{0, 0, 25}},
		"set back by a later call": {object: at(version{}, recorded, version{}), again: of("step-2", 2, 30, "k"),
			failed: []call{{handler: "create_1", life: 2, version: 10, at: time.Now().Add(time.Hour)}}, starts: []uint64{0, 0, 25}},
		"set back by a call with a new view": {object: at(version{}, recorded, version{}), again: of("step-2", 2, 30, "k"),
			failed: []call{{handler: "create_1", life: 2, version: 20}}, starts: []uint64{0, 0, 25}},
		"another key": {object: at(version{}, recorded), again: of("step-2", 1, 20, "other"), starts: []uint64{0, 0, 15}, none: true},
	} {
		t.Run(name, func(t *testing.T) {
			i := &inspection{findings: &findings{Explained: map[string]int{}}, object: test.object, tries: test.failed, starts: test.starts, life: 2}
			i.steps = []stepCall{of("step-1", 1, 10, "k"), test.again}
			i.repeatedSteps()
			var why []string
			for one := range i.Explained {
				why = append(why, one)
			}
			switch got := strings.Join(why, ", "); {
			case test.none && len(i.Duplicates)+len(why) > 0, !test.none && len(i.Duplicates)+len(why) != 1,
				test.want != "" && !strings.Contains(got, test.want), test.want == "" && got != "":
				t.Errorf("duplicates %q, explained %q", i.Duplicates, got)
			}
		})
	}
}
