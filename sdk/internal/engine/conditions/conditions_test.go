package conditions

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/state"
	"github.com/kopf-dev/kopf/sdk/internal/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m, nil) }

type tree = map[string]any

func TestVerdict_OfPasses(t *testing.T) {
	failed := errors.New("no disk")
	unready := core.Health{Unready: "Pod x: 1 of 2"}
	broken := core.Health{Unready: "Pod x: crashed", Failed: true}
	for _, test := range []struct {
		name   string
		out    handlers.Outcome
		health core.Health
		want   Verdict
	}{
		{"success", handlers.Outcome{Final: true}, core.Health{}, Verdict{}},
		{"a child that is not ready", handlers.Outcome{Final: true}, unready, Verdict{ChildrenNotReady, "Pod x: 1 of 2", false}},
		{"a failed child", handlers.Outcome{Final: true}, broken, Verdict{ChildFailed, "Pod x: crashed", false}},
		{"a wait", handlers.Outcome{Waits: true, Err: failed}, unready, Verdict{Waiting, "no disk", false}},
		{"a wait for a failed child", handlers.Outcome{Waits: true, Err: failed}, broken, Verdict{ChildFailed, "Pod x: crashed", false}},
		{"a retry", handlers.Outcome{Err: failed}, core.Health{}, Verdict{Retrying, "no disk", true}},
		{"a retry with a failed child", handlers.Outcome{Err: failed}, broken, Verdict{ChildFailed, "Pod x: crashed", true}},
		{"a permanent failure", handlers.Outcome{Final: true, Err: failed}, broken, Verdict{Failed, "no disk", false}},
	} {
		if got := ofPass(test.out, test.health); got != test.want {
			t.Errorf("%s: %+v", test.name, got)
		}
	}
}

func TestVerdict_OfChangeHandlers(t *testing.T) {
	progress := func(outcomes map[string]handlers.Outcome) state.Progress {
		p, err := state.Progress{}.WithPurpose("create").WithHandlers([]string{"a", "b"}, time.Now()).WithOutcomes(outcomes, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	done, retry := handlers.Outcome{Final: true}, handlers.Outcome{Err: errors.New("not yet")}
	for _, test := range []struct {
		name     string
		progress state.Progress
		failures []state.Failure
		want     Verdict
		decided  bool
	}{
		{"nothing to do", state.Progress{}, nil, Verdict{}, true},
		{"the second one follows", progress(map[string]handlers.Outcome{"a": done}), nil, Verdict{}, false},
		{"both are done", progress(map[string]handlers.Outcome{"a": done, "b": done}), nil, Verdict{}, true},
		{"one is retried", progress(map[string]handlers.Outcome{"a": done, "b": retry}), nil, Verdict{Retrying, "handler b: not yet", true}, true},
		{
			"sub-handlers are left", progress(map[string]handlers.Outcome{"a": {Err: &handlers.ChildrenRetry{}}}), nil,
			Verdict{Retrying, "handler a: some sub-handlers are not done yet", true}, true,
		},
		{"one has failed", state.Progress{}, []state.Failure{{Handler: "a", Message: "never"}}, Verdict{Failed, "handler a: never", false}, true},
		{"a failed one is called again", state.Progress{}, []state.Failure{{Handler: "a", Message: "never", Again: true}}, Verdict{}, false},
		{"an earlier failure does not count during a change", progress(map[string]handlers.Outcome{"a": retry}), []state.Failure{{Handler: "b"}}, Verdict{Retrying, "handler a: not yet", true}, true},
	} {
		if got, decided := ofChanges(test.progress, test.failures); got != test.want || decided != test.decided {
			t.Errorf("%s: %+v, %t", test.name, got, decided)
		}
	}
}

func TestVerdict_WorseOneCounts(t *testing.T) {
	retrying, waiting, failed := Verdict{Retrying, "r", true}, Verdict{State: Waiting, Message: "w"}, Verdict{State: Failed, Message: "f"}
	for _, test := range []struct{ a, b, want Verdict }{
		{Verdict{}, waiting, waiting},
		{waiting, Verdict{}, waiting},
		{retrying, waiting, retrying},
		{retrying, failed, Verdict{Failed, "f", true}},
		{failed, Verdict{State: Failed, Message: "g"}, failed},
	} {
		if got := test.a.and(test.b); got != test.want {
			t.Errorf("%+v and %+v: %+v", test.a, test.b, got)
		}
	}
}

// at is a condition in a status.
func at(typ, status, reason, message, since string, generation int64) tree {
	return condition{typ, status, reason, message, generation, since}.tree()
}

const (
	early = "2026-01-01T00:00:00Z"
	late  = "2026-01-02T00:00:00Z"
)

func complete(generation int64) []any {
	return []any{
		at(Ready, "True", "Complete", "", early, generation), at(Reconciling, "False", "Complete", "", early, generation),
		at(Stalled, "False", "Complete", "", early, generation),
	}
}

func TestDecide_StatusToApply(t *testing.T) {
	others := at("Others", "True", "Given", "", early, 0)
	disk := at("Disk", "True", "Mounted", "sda", early, 1)
	now, err := time.Parse(time.RFC3339, late)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name           string
		s              situation
		same, messages bool
		want           tree // nil if nothing is applied
	}{
		{
			name: "the first status", s: situation{generation: 1, observes: true},
			want: tree{"observedGeneration": int64(1), "conditions": []any{
				at(Ready, "True", "Complete", "", late, 1), at(Reconciling, "False", "Complete", "", late, 1), at(Stalled, "False", "Complete", "", late, 1),
			}},
		},
		{
			name: "nothing has changed", same: true, messages: true,
			s: situation{live: tree{"conditions": append(complete(1), others), "observedGeneration": int64(1)}, generation: 1, observes: true},
		},
		{
			name: "another generation keeps the times",
			s:    situation{live: tree{"conditions": complete(1), "observedGeneration": int64(1)}, generation: 2, observes: true},
			want: tree{"observedGeneration": int64(2), "conditions": complete(2)},
		},
		{
			name: "a retry keeps the observed generation",
			s:    situation{live: tree{"conditions": complete(1), "observedGeneration": int64(1)}, generation: 2, observes: true, verdict: Verdict{Retrying, "no disk", true}},
			want: tree{"observedGeneration": int64(1), "conditions": []any{
				at(Ready, "False", "Retrying", "no disk", late, 2), at(Reconciling, "True", "Retrying", "no disk", late, 2), at(Stalled, "False", "Retrying", "", early, 2),
			}},
		},
		{
			name: "a retry of a new object observes nothing",
			s:    situation{generation: 1, observes: true, verdict: Verdict{Retrying, "", true}},
			want: tree{"conditions": []any{
				at(Ready, "False", "Retrying", "", late, 1), at(Reconciling, "True", "Retrying", "", late, 1), at(Stalled, "False", "Retrying", "", late, 1),
			}},
		},
		{
			name: "without a usable generation",
			s:    situation{live: tree{"conditions": complete(0)}, observes: true, set: map[string]condition{"Disk": {typ: "Disk", status: "True", reason: "Mounted", generation: 3}}},
			want: tree{"conditions": append(complete(0), at("Disk", "True", "Mounted", "", late, 0))},
		},
		{
			name: "another message alone", messages: true,
			s: situation{live: tree{"conditions": append(complete(1), disk)}, generation: 1, set: map[string]condition{
				"Disk": {typ: "Disk", status: "True", reason: "Mounted", message: "sdb", generation: 1},
			}},
			want: tree{"conditions": append([]any{at("Disk", "True", "Mounted", "sdb", early, 1)}, complete(1)...)},
		},
		{
			name: "conditions of handlers stay, those of others are left out",
			s:    situation{live: tree{"conditions": append(complete(1), others, disk)}, generation: 2, owned: map[string]bool{"Disk": true}},
			want: tree{"conditions": append([]any{disk}, complete(2)...)},
		},
		{
			name: "as a whole, conditions of others stay",
			s:    situation{live: tree{"conditions": append(complete(1), others)}, generation: 2, whole: true},
			want: tree{"conditions": append(complete(2), others)},
		},
		{
			name: "a condition is removed",
			s:    situation{live: tree{"conditions": append(complete(1), disk)}, generation: 1, owned: map[string]bool{"Disk": true}, set: map[string]condition{"Disk": {typ: "Disk"}}},
			want: tree{"conditions": complete(1)},
		},
		{
			name: "a condition of others is not removed", same: true, messages: true,
			s: situation{live: tree{"conditions": append(complete(1), others)}, generation: 1, set: map[string]condition{"Others": {typ: "Others"}}},
		},
		{
			name: "the list is no list",
			s:    situation{live: tree{"conditions": "x"}},
			want: tree{"conditions": []any{
				at(Ready, "True", "Complete", "", late, 0), at(Reconciling, "False", "Complete", "", late, 0), at(Stalled, "False", "Complete", "", late, 0),
			}},
		},
	} {
		test.s.now = now
		got := decide(&test.s)
		if got.same != test.same || got.messages != test.messages {
			t.Errorf("%s: same %t, only messages %t", test.name, got.same, got.messages)
		}
		if test.want == nil {
			continue
		}
		if diff := cmp.Diff(byTypes(test.want), byTypes(got.status)); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
}

// byTypes returns a status whose conditions are a map.
func byTypes(status tree) tree {
	all := tree{"observedGeneration": status["observedGeneration"]}
	for _, item := range status["conditions"].([]any) {
		all[item.(tree)["type"].(string)] = item
	}
	return all
}

func TestGiven_InvalidConditionsAreRefused(t *testing.T) {
	valid := handlers.Condition{Type: "example.com/Disk", Status: metav1.ConditionTrue, Reason: "Mounted"}
	change := func(f func(*handlers.Condition)) handlers.Condition {
		c := valid
		f(&c)
		return c
	}
	for want, c := range map[string]handlers.Condition{
		"the operator itself keeps": change(func(c *handlers.Condition) { c.Type = Stalled }),
		"the type is not valid":     change(func(c *handlers.Condition) { c.Type = "no type" }),
		`the status is "true"`:      change(func(c *handlers.Condition) { c.Status = "true" }),
		`the reason is ""`:          change(func(c *handlers.Condition) { c.Reason = "" }),
		`the reason is "not done"`:  change(func(c *handlers.Condition) { c.Reason = "not done" }),
		"more than 32768":           change(func(c *handlers.Condition) { c.Message = strings.Repeat("x", 32769) }),
	} {
		if _, err := given(c, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	got, err := given(valid, 7)
	if want := (condition{"example.com/Disk", "True", "Mounted", "", 7, ""}); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	since := change(func(c *handlers.Condition) {
		c.ObservedGeneration, c.LastTransitionTime = 3, metav1.NewTime(time.Unix(0, 0))
	})
	got, err = given(since, 7)
	if want := (condition{"example.com/Disk", "True", "Mounted", "", 3, "1970-01-01T00:00:00Z"}); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestKeys_OfTheManagersApply(t *testing.T) {
	entry := func(manager, operation, typ string) tree {
		return tree{"manager": manager, "operation": operation, "fieldsV1": tree{"f:status": tree{"f:conditions": tree{
			`k:{"type":"` + typ + `"}`: tree{}, ".": tree{},
		}}}}
	}
	got := appliedTypes([]any{entry("m", "Apply", "A"), entry("m", "Update", "B"), entry("n", "Apply", "C")}, "m")
	if diff := cmp.Diff(map[string]bool{"A": true}, got); diff != "" {
		t.Error(diff)
	}
}
