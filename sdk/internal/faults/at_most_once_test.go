package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

// onceName is the name of the step that must happen at most once.
const onceName = "notify"

// onces are the steps that must happen at most once, in all lives of the operator.
type onces struct {
	asked   []stepCall      // attempts of handlers that asked for the step
	called  []stepCall      // calls that have had an effect, or perhaps an effect
	unsure  []stepCall      // attempts that got kopf.ErrStepUnsure
	failed  map[string]bool // ids of the calls that failed, perhaps after their effect
	refused map[string]bool // keys of the calls that have had no effect at first
}

// once runs a step of a handler that must happen at most once. Some of the calls are refused at first, and some fail, perhaps
// after their effect. The handler continues without a call if the step is unsure.
func (l *ledger) once(ctx context.Context, id string, life int, c *kopf.Change[subject]) error {
	if !l.withSteps || c.Reason == kopf.ReasonDelete {
		return nil
	}
	l.note(&l.onces.asked, id, life, c)
	result, err := kopf.StepAtMostOnce(ctx, c, onceName, func(_ context.Context, key kopf.StepKey) (string, error) {
		luck := chance(onceName, id, c.Object.Spec.Value)
		if luck < 32 && l.refuse(string(key)) {
			return "", kopf.Temporaryf(10*time.Millisecond, "the other system is busy")
		}
		number := l.note(&l.onces.called, id, life, c)
		if luck >= 240 {
			l.mu.Lock()
			defer l.mu.Unlock()
			if l.onces.failed == nil {
				l.onces.failed = map[string]bool{}
			}
			l.onces.failed[number] = true
			return "", errors.New("connection lost")
		}
		return number, nil
	})
	if errors.Is(err, kopf.ErrStepUnsure) {
		l.note(&l.onces.unsure, id, life, c)
		return nil
	}
	if err != nil {
		return err
	}
	key := kopf.KeyFor(c, onceName)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, one := range l.onces.called {
		if one.id == result && one.key != key {
			l.doubled = append(l.doubled, fmt.Sprintf("%s got the result of another handling in life %d, which has the key %s: %s", id, life, key, one))
		}
	}
	return nil
}

// note adds a call to a list, and returns the id of the call.
func (l *ledger) note(list *[]stepCall, id string, life int, c *kopf.Change[subject]) string {
	one := stepCall{call: callOf(id, life, c), name: onceName, key: kopf.KeyFor(c, onceName)}
	l.mu.Lock()
	defer l.mu.Unlock()
	one.id = fmt.Sprint("once-", len(*list)+1)
	*list = append(*list, one)
	return one.id
}

// refuse reports whether the first call with a key is yet to be refused.
func (l *ledger) refuse(key string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.onces.refused[key] {
		return false
	}
	if l.onces.refused == nil {
		l.onces.refused = map[string]bool{}
	}
	l.onces.refused[key] = true
	return true
}

// onceOf returns the steps of one object that must happen at most once.
func (l *ledger) onceOf(uid string) onces {
	l.mu.Lock()
	defer l.mu.Unlock()
	of := func(all []stepCall) (own []stepCall) {
		for _, c := range all {
			if c.uid == uid {
				own = append(own, c)
			}
		}
		return own
	}
	return onces{asked: of(l.onces.asked), called: of(l.onces.called), unsure: of(l.onces.unsure), failed: maps.Clone(l.onces.failed)}
}

// startOf reads the start in an annotation.
func startOf(text string, into map[string]string) error {
	var start struct{ Handler, At string }
	if err := json.Unmarshal([]byte(text), &start); err != nil {
		return err
	}
	into[start.Handler] = start.At
	return nil
}

// repeatedOnces looks for steps that must happen at most once, and were called again or after they were unsure, and for unsure
// steps without a reason.
func (i *inspection) repeatedOnces() {
	report := func(list *[]string, first, again stepCall, what string) {
		*list = append(*list, fmt.Sprintf("%s %s: %s: %s and %s", i.object.kind, i.object.name, what, first, again))
	}
	again := func(first, again stepCall, what string) {
		if again.reason == kopf.ReasonUpdate && i.overwritten(first.call, again.call) {
			i.Explained["step called again: a process with an old view had set the object back"]++
		} else {
			report(&i.Duplicates, first, again, what)
		}
	}
	for n, c := range i.onces.called {
		for _, a := range i.onces.called[:n] {
			if c.key == a.key {
				again(a, c, "called more than once")
			}
		}
		for _, u := range i.onces.unsure {
			switch {
			case c.key != u.key || c.life < u.life || !c.at.After(u.at):
			case i.removedStart(u):
				i.Explained["step called after an alarm: a process with an old view had seen a start that was removed"]++
			default:
				again(u, c, "called after it was unsure")
			}
		}
	}
	for _, u := range i.onces.unsure {
		if why := i.explainUnsure(u); why != "" {
			i.Explained[why]++
		} else {
			report(&i.Unneeded, u, u, "unsure without a reason")
		}
	}
}

// removedStart reports whether an earlier process had removed the start of an unsure step before the alarm. Its request can arrive
// after the next process has listed the object.
func (i *inspection) removedStart(u stepCall) bool {
	own := func(a stepCall) bool {
		return a.key == u.key && a.life == u.life && a.at.Before(u.at) && a.version < u.version
	}
	return i.object.at(u.version).started[u.handler] != "" && !slices.ContainsFunc(i.onces.asked, own) &&
		slices.ContainsFunc(i.object.versions, func(v version) bool {
			return v.number > u.version && v.started[u.handler] == "" && (v.number <= i.starts[u.life] || v.came.Before(u.at))
		})
}

// overwritten reports whether a process with an old view began to handle the object after a call of an earlier process, and the records, the results
// of steps, or the last-handled state on the object changed before the next call. A process compares the records of another one with the newest
// version, so an old view has none.
func (i *inspection) overwritten(first, again call) bool {
	former := i.object.at(first.version)
	for _, v := range i.object.versions {
		if v.number <= first.version || v.number > again.version {
			continue
		}
		changed := v.last != former.last || !maps.Equal(v.records, former.records) || !maps.Equal(v.steps, former.steps)
		if changed && slices.ContainsFunc(i.tries, func(c call) bool {
			return c.life > first.life && c.life <= again.life && c.at.Before(v.came) && i.oldView(c) && len(i.object.at(c.version).records) == 0
		}) {
			return true
		}
		former = v
	}
	return false
}

// explainUnsure returns why a step is unsure; empty if there is no good reason.
func (i *inspection) explainUnsure(u stepCall) string {
	n := slices.IndexFunc(i.onces.called, func(c stepCall) bool { return c.key == u.key })
	if n >= 0 && i.onces.failed[i.onces.called[n].id] {
		return "step unsure: the call failed, perhaps after its effect"
	}
	switch before := func(a stepCall) bool { return a.key == u.key && a.life < u.life }; {
	case n < 0 && i.listed(u):
		return "step unsure: the process listed the objects after an attempt whose requests had lost their answers"
	case n < 0 && i.otherStart(u):
		return "step unsure: a process with an old view had set the object back"
	case !slices.ContainsFunc(i.onces.asked, before), i.ownStart(u):
		return "" // the same process started the step
	case n < 0:
		return "step unsure: the process ended before the call, or before the start was removed"
	}
	called := i.onces.called[n]
	switch stored, ok := i.stepStored(called); {
	case !ok || stored > i.starts[u.life] || u.version < stored:
		return "step unsure: the process ended before the result was stored"
	case i.stepSetBack(called, u, stored):
		return "step unsure: a process with an old view had set the object back"
	default:
		return ""
	}
}

// otherStart reports whether an earlier process asked for the step of the same update with another key before the start, and a process with an
// old view began the update anew. The start of the earlier process stays on the object, which can have changed again since.
func (i *inspection) otherStart(u stepCall) bool {
	n := i.startedAt(u)
	return u.reason == kopf.ReasonUpdate && n >= 0 && !i.ownStart(u) && slices.ContainsFunc(i.onces.asked, func(a stepCall) bool {
		return a.handler == u.handler && a.old == u.old && a.key != u.key && a.life < u.life && !a.at.After(i.object.versions[n].came) &&
			slices.ContainsFunc(i.tries, func(c call) bool { return c.life > a.life && c.life <= u.life && c.at.Before(u.at) && i.oldView(c) })
	})
}

// startedAt returns the index of the first version with the start that an unsure step has found; negative if it has found none.
func (i *inspection) startedAt(u stepCall) int {
	start := i.object.at(u.version).started[u.handler]
	return slices.IndexFunc(i.object.versions, func(v version) bool { return start != "" && v.started[u.handler] == start })
}

// listed reports whether the process handled the object of a list between an attempt and a later one, in which the start of the attempt is unsure:
// with the list, the process forgets that it has not called the step. The object can come from a list that ended during the attempt.
func (i *inspection) listed(u stepCall) bool {
	return i.ownStart(u) && slices.ContainsFunc(i.onces.asked, func(a stepCall) bool {
		return a.key == u.key && a.life == u.life && slices.ContainsFunc(i.lists, func(s span) bool {
			return s.began.Before(u.at) && (s.ended.IsZero() || s.ended.After(i.object.at(a.version).came))
		})
	})
}

// ownStart reports whether the process with an unsure step recorded the start itself, after a version that an attempt had.
func (i *inspection) ownStart(u stepCall) bool {
	n := i.startedAt(u)
	if n < 0 || i.object.versions[n].number <= i.starts[u.life] {
		return false
	}
	return slices.ContainsFunc(i.onces.asked, func(a stepCall) bool {
		return a.key == u.key && a.life == u.life && a.version < i.object.versions[n].number && a.at.Before(i.object.versions[n].came)
	})
}

func TestInspection_StepsThatHappenAtMostOnce(t *testing.T) {
	began := time.Now()
	of := func(life int, number uint64, key kopf.StepKey) stepCall {
		return stepCall{call: call{id: fmt.Sprint("once-", life), handler: "create_1", reason: kopf.ReasonCreate, life: life, version: number, at: began.Add(time.Duration(number) * time.Second)}, name: onceName, key: key}
	}
	update := func(life int, number uint64) stepCall {
		c := of(life, number, "k")
		c.handler, c.reason, c.old, c.new = "update_1", kopf.ReasonUpdate, "v1", "v2"
		return c
	}
	otherKey := func(life int, number uint64) stepCall { c := update(life, number); c.key = "other"; return c }
	changed := func(life int, number uint64) stepCall { c := otherKey(life, number); c.new = "v1.5"; return c }
	former := func(life int, number uint64) stepCall {
		c := otherKey(life, number)
		c.old, c.new = "v0", "v1"
		return c
	}
	made := func(id string) version {
		return version{value: "v2", last: "v1", steps: map[string]string{"update_1 make": id, "update_2 make": "step-9"}}
	}
	held := version{value: "v2", last: "v1", records: map[string]record{"update_1": {Purpose: "update", Success: true}}}
	open, closed, oldView := version{value: "v2", last: "v1"}, version{value: "v2", last: "v2"}, []call{{life: 2, version: 10, at: began.Add(26 * time.Second)}}
	begun := version{value: "v2", last: "v1", started: map[string]string{"update_1": "now"}}
	early := []call{{life: 2, version: 5, at: began.Add(16 * time.Second)}}
	list := func(all ...stepCall) []stepCall { return all }
	during := func(from, to time.Duration) []span {
		return []span{{began.Add(from * time.Second), began.Add(to * time.Second)}}
	}
	started := version{value: "v1", started: map[string]string{"create_1": "now"}, came: began.Add(time.Hour)}
	recorded := version{value: "v1", steps: map[string]string{"create_1 notify": "once-1"}}
	removed := version{came: began.Add(15 * time.Second)}
	for name, test := range map[string]struct {
		object     *object
		onces      onces
		tries      []call
		lists      []span
		starts     []uint64
		duplicates int
		unneeded   int
		want       string // text in the explanation; empty if there is none
	}{
		"called once":                            {onces: onces{called: list(of(1, 10, "k"))}},
		"called for two changes":                 {onces: onces{called: list(of(1, 10, "k"), of(1, 20, "other"))}},
		"called twice":                           {onces: onces{called: list(of(1, 10, "k"), of(2, 20, "k"))}, starts: []uint64{0, 0, 15}, duplicates: 1},
		"called for an update that was set back": {object: at(open, closed, open), onces: onces{called: list(update(1, 10), update(2, 30))}, tries: oldView, starts: []uint64{0, 0, 25}, want: "old view"},
		"called after the results of an earlier update were set back":        {object: at(made("step-2"), made("step-1"), made("step-1")), onces: onces{called: list(update(1, 10), update(2, 30))}, tries: early, starts: []uint64{0, 0, 15}, want: "old view"},
		"called after an earlier update was ended again":                     {object: at(held, open, open), onces: onces{called: list(update(1, 10), update(2, 30))}, tries: early, starts: []uint64{0, 0, 15}, want: "old view"},
		"called after the removal of the records, and no view was old":       {object: at(held, open, open), onces: onces{called: list(update(1, 10), update(2, 30))}, starts: []uint64{0, 0, 25}, duplicates: 1},
		"called after an old view with records":                              {object: at(held, open, open), onces: onces{called: list(update(1, 10), update(2, 30))}, tries: []call{{life: 2, version: 10, at: began.Add(16 * time.Second)}}, starts: []uint64{0, 0, 25}, duplicates: 1},
		"called again with the same records":                                 {object: at(held, held, held), onces: onces{called: list(update(1, 10), update(2, 30))}, tries: early, starts: []uint64{0, 0, 15}, duplicates: 1},
		"called again with the same results":                                 {object: at(made("step-1"), made("step-1"), made("step-1")), onces: onces{called: list(update(1, 10), update(2, 30))}, tries: early, starts: []uint64{0, 0, 15}, duplicates: 1},
		"called again with other results, and no view was old":               {object: at(made("step-2"), made("step-1"), made("step-1")), onces: onces{called: list(update(1, 10), update(2, 30))}, starts: []uint64{0, 0, 25}, duplicates: 1},
		"called again in an unfinished update":                               {object: at(open, open, open), onces: onces{called: list(update(1, 10), update(2, 30))}, tries: early, starts: []uint64{0, 0, 15}, duplicates: 1},
		"called again after a change before the old view":                    {object: at(open, closed, closed), onces: onces{called: list(update(1, 10), update(2, 30))}, tries: oldView, starts: []uint64{0, 0, 25}, duplicates: 1},
		"called again, and no view was old":                                  {object: at(open, closed, open), onces: onces{called: list(update(1, 10), update(2, 30))}, starts: []uint64{0, 0, 25}, duplicates: 1},
		"called after an alarm, and a set-back":                              {object: at(open, closed, open), onces: onces{asked: list(update(0, 5)), unsure: list(update(1, 10)), called: list(update(2, 30))}, tries: oldView, starts: []uint64{0, 0, 25}, want: "old view"},
		"called after an alarm":                                              {onces: onces{asked: list(of(1, 10, "k")), unsure: list(of(2, 20, "k")), called: list(of(2, 30, "k"))}, starts: []uint64{0, 0, 15}, duplicates: 1, want: "before the result"},
		"called after an alarm about a removed start":                        {object: at(version{}, started, version{}), onces: onces{asked: list(of(1, 10, "k")), unsure: list(of(2, 20, "k")), called: list(of(3, 30, "k"))}, starts: []uint64{0, 0, 35, 35}, want: "start that was removed"},
		"called after an alarm during a removal":                             {object: at(version{}, started, removed), onces: onces{asked: list(of(1, 10, "k")), unsure: list(of(2, 20, "k")), called: list(of(3, 30, "k"))}, starts: []uint64{0, 0, 25, 35}, want: "start that was removed"},
		"called after an alarm before a removal":                             {object: at(version{}, started, version{came: began.Add(25 * time.Second)}), onces: onces{asked: list(of(1, 10, "k")), unsure: list(of(2, 20, "k")), called: list(of(3, 30, "k"))}, starts: []uint64{0, 0, 25, 35}, duplicates: 1, want: "before the result"},
		"called after an alarm in a later attempt":                           {object: at(version{}, started, removed), onces: onces{asked: list(of(2, 10, "k")), unsure: list(of(2, 20, "k")), called: list(of(3, 30, "k"))}, starts: []uint64{0, 0, 5, 35}, duplicates: 1, unneeded: 1},
		"called after an alarm about a start on the object":                  {object: at(version{}, started, started), onces: onces{asked: list(of(1, 10, "k")), unsure: list(of(2, 20, "k")), called: list(of(3, 30, "k"))}, starts: []uint64{0, 0, 35, 35}, duplicates: 1, want: "before the result"},
		"alarm without an asker":                                             {onces: onces{asked: list(of(1, 10, "k")), unsure: list(of(1, 20, "k"))}, unneeded: 1},
		"alarm without a call":                                               {onces: onces{asked: list(of(1, 10, "k")), unsure: list(of(2, 20, "k"))}, want: "before the call"},
		"alarm after a failure":                                              {onces: onces{called: list(of(1, 10, "k")), unsure: list(of(1, 20, "k")), failed: map[string]bool{"once-1": true}}, want: "after its effect"},
		"alarm without a record":                                             {onces: onces{asked: list(of(1, 10, "k")), called: list(of(1, 10, "k")), unsure: list(of(2, 20, "k"))}, starts: []uint64{0, 0, 15}, want: "before the result"},
		"alarm despite a record":                                             {object: at(version{}, recorded, recorded), onces: onces{asked: list(of(1, 10, "k")), called: list(of(1, 10, "k")), unsure: list(of(2, 30, "k"))}, starts: []uint64{0, 0, 25}, unneeded: 1},
		"alarm with an old view":                                             {object: at(version{}, recorded), onces: onces{asked: list(of(1, 10, "k")), called: list(of(1, 10, "k")), unsure: list(of(2, 10, "k"))}, starts: []uint64{0, 0, 25}, want: "before the result"},
		"alarm after a set-back":                                             {object: at(version{}, recorded, version{}), onces: onces{asked: list(of(1, 10, "k")), called: list(of(1, 10, "k")), unsure: list(of(2, 30, "k"))}, tries: []call{{life: 2, version: 10}}, starts: []uint64{0, 0, 25}, want: "old view"},
		"alarm without set-back":                                             {object: at(version{}, recorded, version{}), onces: onces{asked: list(of(1, 10, "k")), called: list(of(1, 10, "k")), unsure: list(of(2, 30, "k"))}, starts: []uint64{0, 0, 25}, unneeded: 1},
		"alarm after an own start, which an earlier process had asked for":   {object: at(version{}, version{}, started), onces: onces{asked: list(of(1, 10, "k"), of(2, 20, "k")), unsure: list(of(2, 30, "k"))}, starts: []uint64{0, 0, 15}, unneeded: 1},
		"alarm after an own start, and a list":                               {object: at(version{}, started, started), onces: onces{asked: list(of(2, 10, "k")), unsure: list(of(2, 30, "k"))}, lists: during(20, 22), starts: []uint64{0, 0, 5}, want: "listed the objects"},
		"alarm after a list, and an own start":                               {object: at(version{}, started, started), onces: onces{asked: list(of(2, 10, "k")), unsure: list(of(2, 30, "k"))}, lists: during(5, 7), starts: []uint64{0, 0, 5}, unneeded: 1},
		"alarm after a list that ended during the attempt":                   {object: at(version{}, started, started), onces: onces{asked: list(of(2, 10, "k")), unsure: list(of(2, 30, "k"))}, lists: during(5, 15), starts: []uint64{0, 0, 5}, want: "listed the objects"},
		"alarm after a list without an end":                                  {object: at(version{}, started, started), onces: onces{asked: list(of(2, 10, "k")), unsure: list(of(2, 30, "k"))}, lists: []span{{began: began}}, starts: []uint64{0, 0, 5}, want: "listed the objects"},
		"alarm before a list":                                                {object: at(version{}, started, started), onces: onces{asked: list(of(2, 10, "k")), unsure: list(of(2, 30, "k"))}, lists: during(35, 40), starts: []uint64{0, 0, 5}, unneeded: 1},
		"alarm after a call in the same process, and a list":                 {object: at(version{}, started, started), onces: onces{asked: list(of(2, 10, "k")), called: list(of(2, 10, "k")), unsure: list(of(2, 30, "k"))}, lists: during(20, 22), starts: []uint64{0, 0, 5}, unneeded: 1},
		"alarm after a start of an earlier process":                          {object: at(version{}, started, started), onces: onces{asked: list(of(1, 10, "k"), of(2, 20, "k")), unsure: list(of(2, 30, "k"))}, starts: []uint64{0, 0, 25}, want: "before the call"},
		"alarm about the start of an update that was begun anew":             {object: at(begun, begun, begun), onces: onces{asked: list(otherKey(1, 10)), unsure: list(update(3, 30))}, tries: oldView, starts: []uint64{0, 0, 25, 28}, want: "old view"},
		"alarm about the start of an update that was begun anew and changed": {object: at(begun, begun, begun), onces: onces{asked: list(changed(1, 10)), unsure: list(update(3, 30))}, tries: oldView, starts: []uint64{0, 0, 25, 28}, want: "old view"},
		"alarm about a start before the attempt with another key":            {object: at(begun, begun, begun), onces: onces{asked: list(otherKey(1, 20)), unsure: list(update(3, 30))}, tries: oldView, starts: []uint64{0, 0, 25, 28}, unneeded: 1},
		"alarm about the start of another update":                            {object: at(begun, begun, begun), onces: onces{asked: list(former(1, 10)), unsure: list(update(3, 30))}, tries: oldView, starts: []uint64{0, 0, 25, 28}, unneeded: 1},
		"alarm about the start of another key, and no view was old":          {object: at(begun, begun, begun), onces: onces{asked: list(otherKey(1, 10)), unsure: list(update(3, 30))}, starts: []uint64{0, 0, 25, 28}, unneeded: 1},
		"alarm about the start of another key, without a start":              {object: at(open, open, open), onces: onces{asked: list(otherKey(1, 10)), unsure: list(update(3, 30))}, tries: oldView, starts: []uint64{0, 0, 25, 28}, unneeded: 1},
		"alarm about an own start after another key":                         {object: at(open, open, begun), onces: onces{asked: list(otherKey(1, 10), update(3, 20)), unsure: list(update(3, 30))}, tries: oldView, starts: []uint64{0, 0, 25, 28}, unneeded: 1},
		"alarm for another change":                                           {onces: onces{asked: list(of(1, 10, "other")), unsure: list(of(2, 20, "k"))}, unneeded: 1},
	} {
		t.Run(name, func(t *testing.T) {
			if test.object == nil {
				test.object = at(version{})
			}
			if test.starts == nil {
				test.starts = []uint64{0, 0, 0}
			}
			for n := range test.object.versions {
				if v := &test.object.versions[n]; v.came.IsZero() {
					v.came = began.Add(time.Duration(v.number) * time.Second)
				}
			}
			i := &inspection{findings: &findings{Explained: map[string]int{}}, object: test.object, tries: test.tries, onces: test.onces, starts: test.starts, lists: test.lists}
			i.repeatedOnces()
			var why []string
			for one := range i.Explained {
				why = append(why, one)
			}
			got := strings.Join(why, ", ")
			if len(i.Duplicates) != test.duplicates || len(i.Unneeded) != test.unneeded || (test.want == "") != (got == "") || !strings.Contains(got, test.want) {
				t.Errorf("duplicates %q, unneeded %q, explained %q", i.Duplicates, i.Unneeded, got)
			}
		})
	}
}
