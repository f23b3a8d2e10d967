package tui

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// names returns the names of the objects in the list, from the top.
func (u *user) names(w int) []string {
	u.t.Helper()
	var names []string
	for _, o := range u.app.screen.State.Objects {
		names = append(names, o.Name)
	}
	at := map[string]int{}
	for y, line := range u.lines() {
		for _, name := range names {
			if y > 4 && slices.Contains(strings.Fields(line), name) && at[name] == 0 {
				at[name] = y
			}
		}
	}
	slices.SortFunc(names, func(a, b string) int { return at[a] - at[b] })
	return names[:w]
}

func TestResources_OrderByEachColumn(t *testing.T) {
	u := start(t, "background", 140, 60)
	for _, step := range []struct {
		key, notice, title string
		first              []string
	}{
		{"s", "ordered by state, worst first", "STATE▴", []string{"batch-scratch", "old-logs"}},
		{"s", "ordered by handler", "HANDLER▴", []string{"batch-scratch", "reports"}},
		{"s", "ordered by the next attempt, soonest first", "NEXT▴", []string{"web-cache", "batch-scratch"}},
		{"s", "ordered by age, youngest first", "AGE▴", []string{"reports", "scratch-2"}},
		{"S", "ordered by age, oldest first", "AGE▾", []string{"old-logs", "ml-train"}},
		{"s", "ordered by name", "NAME ", []string{"batch-scratch", "media"}},
		{"S", "ordered by name, backwards", "NAME▾", []string{"web-1", "web-0"}},
	} {
		u.press(step.key).sees(step.notice).sees(step.title)
		if got := u.names(2); !slices.Equal(got, step.first) {
			t.Errorf("%s: first are %v", step.notice, got)
		}
	}
}

func TestResources_ChildrenHaveColumnWhereThereAreAny(t *testing.T) {
	start(t, "normal", 140, 60).seesNot("CHILDREN").press("s", "s").sees("ordered by handler")
	u := start(t, "children", 140, 60).sees("CHILDREN").sees("✗ 1/12").press("s", "s").sees("ordered by children, worst first").sees("CHILDREN▴")
	if got, want := u.names(5), []string{"old-logs", "web-cache", "ml-train", "web-data", "batch-scratch"}; !slices.Equal(got, want) {
		t.Errorf("the worst are %v, want %v", got, want)
	}
	u.press("S").sees("ordered by children, best first").sees("CHILDREN▾")
	if got, want := u.names(4), []string{"ml-train", "web-data", "web-cache", "old-logs"}; !slices.Equal(got, want) {
		t.Errorf("the best are %v, want %v", got, want)
	}
	for filter, want := range map[string]string{"children:2/5": "1 of 11", "children:✗": "2 of 11", "ch:/": "4 of 11"} {
		u.press("/").write(filter).sees(want).press("esc")
	}
}

func TestResources_FilterOfOneColumn(t *testing.T) {
	u := start(t, "owners", 120, 40)
	for filter, want := range map[string]string{
		"state:retr": "1 of 11", "state:failed": "1 of 11", "kind:po": "2 of 11", "ns:staging": "2 of 11", "namespace:staging tmp": "1 of 11",
		"name:web": "4 of 11", "web": "4 of 11", "handler:release": "2 of 11", "owner:replicaset": "1 of 11", "retrying": "1 of 11",
		"state:web": "0 of 11", "colour:blue": "0 of 11", ":": "0 of 11",
	} {
		u.press("/").write(filter)
		if !strings.Contains(strings.Join(u.lines(), "\n"), want) {
			t.Errorf("%q does not show %s:\n%s", filter, want, strings.Join(u.lines()[:8], "\n"))
		}
		u.press("esc")
	}
}

func TestResources_ChildrenBeneathTheirOwners(t *testing.T) {
	u := start(t, "owners", 120, 60).press("u").sees("grouped by kind").sees("pods.v1  2")
	u.press("u").sees("children beneath their owners").sees("└ web-data").sees("  └ web-0").sees("ReplicaSet web-7d4f  not in this list").sees("└ web-1")
	if got := u.names(6); !slices.Equal(got[2:5], []string{"ml-train", "web-data", "web-0"}) {
		t.Errorf("%v", got)
	}
	u.press("G").cursorOn("web-1").press("k").cursorOn("tmp-build")
	u.press("/").write("web").sees("EphemeralVolumeClaim ml-train  not in this list").sees("4 of 11").press("esc")
	u.publish(func(s *runner.State) { // they own each other
		for i := range s.Snapshot.Objects {
			if o := s.Snapshot.Objects[i]; o.Name == "ml-train" {
				o.Owners = []inspect.Owner{{Kind: "Pod", Name: "web-0", UID: "uid-of-web-0"}}
			}
		}
	}).sees("ml-train").sees("web-0")
	u.press("u").sees("not grouped")
}

func TestResources_NothingToGroup(t *testing.T) {
	u := start(t, "normal", 120, 24)
	u.publish(func(s *runner.State) {
		s.Snapshot.Objects = slices.DeleteFunc(s.Snapshot.Objects, func(o *inspect.Object) bool { return o.Kind == "Pod" })
	})
	u.press("u").sees("all objects are of one kind, and none has an owner")
}

func TestAlarms_OfTheOperator(t *testing.T) {
	u := start(t, "hot-loop", 160, 40).sees("✗ hot loop: status.seen of default/web-cache · the operator's own patch causes itself, 1,400 times in a row").sees("and 1 more")
	u.publish(func(s *runner.State) { s.Snapshot.Operator.Alarms = s.Snapshot.Operator.Alarms[:1] }).sees("✗ not permitted: patch pods.v1/status")
	u.publish(func(s *runner.State) {
		s.Snapshot.Operator.Alarms = []inspect.Alarm{{Kind: inspect.AlarmMemory, Was: 50 << 20, Is: 200 << 20}}
	}).sees("! memory grows: 50 → 200 MB")
	u.publish(func(s *runner.State) {
		s.Snapshot.Operator.Alarms = []inspect.Alarm{{Kind: inspect.AlarmGoroutines, Was: 100, Is: 2000}}
	}).sees("! goroutines grow: 100 → 2,000")
	u.publish(func(s *runner.State) { s.Live = false }).seesNot("goroutines")
}

func TestAlarms_HandlerIsRetriedForHours(t *testing.T) {
	u := start(t, "normal", 120, 30).wait(59 * time.Minute).seesNot("been retried for")
	u.wait(2 * time.Hour).sees("! resize of default/web-cache has been retried for 2h · 2 attempts")
}

func TestAlarms_HandlerNeverRanAlthoughThereAreObjects(t *testing.T) {
	u := start(t, "normal", 140, 30).seesNot("never ran:")
	u.publish(func(s *runner.State) { // all objects are bronze
		s.Snapshot.Handlers[0].Stats = inspect.Stats{}
		for i := range s.Snapshot.Objects {
			o := s.Snapshot.Objects[i]
			o.Handlers = nil
			if o.Kind != "Pod" {
				o.Handlers = []inspect.HandlerState{out("create", "create", bronze), out("resize", "field", bronze)}
			}
		}
	}).sees("! create never ran: its filter keeps out all 9 objects · label tier is bronze, must be gold · 2 shows each")
	u.publish(func(s *runner.State) {
		s.Snapshot.Objects[3].Handlers = []inspect.HandlerState{out("create", "create", onlyOn("create"))}
	})
	u.seesNot("never ran:") // the handler of that object ran before the operator started
	u.publish(func(s *runner.State) {
		s.Snapshot.Objects[3].History = []inspect.PastCause{{Reason: inspect.ReasonCreate}}
	})
	u.sees("! create never ran: its filter keeps out all 9 objects") // when that object was created, it was bronze, too
	u.publish(func(s *runner.State) {
		s.Snapshot.Operator.Started = noon.Add(-9 * time.Minute)
		s.Snapshot.Objects = s.Snapshot.Objects[:1]
	}).seesNot("never ran:")
}
