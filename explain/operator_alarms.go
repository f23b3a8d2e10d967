package explain

import (
	"fmt"
	"strings"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// alarmKinds are the kinds of alarms of the operator, the gravest first.
var alarmKinds = []inspect.AlarmKind{
	inspect.AlarmBrake, inspect.AlarmHotLoop, inspect.AlarmForbidden, inspect.AlarmFight, inspect.AlarmUnstable, inspect.AlarmGoroutines, inspect.AlarmMemory,
}

// published returns the gravest alarm that the operator itself publishes.
func (s *State) published() Alarm {
	if s.Snapshot == nil || !s.Live {
		return Alarm{}
	}
	for _, kind := range alarmKinds {
		for i := range s.Snapshot.Operator.Alarms {
			a := &s.Snapshot.Operator.Alarms[i]
			if a.Kind != kind {
				continue
			}
			shown := describe(a)
			if more := len(s.Snapshot.Operator.Alarms) - 1; more > 0 {
				shown.Rest += fmt.Sprintf(" · and %d more", more)
			}
			return shown
		}
	}
	return Alarm{}
}

// describe puts an alarm of the operator into words.
func describe(a *inspect.Alarm) Alarm {
	switch a.Kind {
	case inspect.AlarmHotLoop:
		where := ""
		if a.Object != nil {
			where = " of " + QualifiedName(*a.Object)
		}
		return Alarm{Err, "✗ hot loop: " + a.Field + where, "the operator's own patch causes itself, " + Thousands(a.Count) + " times in a row"}
	case inspect.AlarmForbidden:
		return Alarm{Err, "✗ not permitted: " + a.Verb + " " + a.Resource, a.Message}
	case inspect.AlarmBrake:
		plural, _, _ := strings.Cut(a.Resource, ".")
		return Alarm{Err, "✗ pruning of " + plural + " stopped", Thousands(a.Count) + pick(a.Count, " unchanged object", " unchanged objects") + " would lose more · roll back, or B releases the brake"}
	case inspect.AlarmFight:
		by := "another client changes it"
		if a.Manager != "" {
			by = a.Manager + " changes it"
		}
		return Alarm{Warn, "! fight: " + a.Field + childOf(a), by + " again and again · remove the field from one of the two"}
	case inspect.AlarmUnstable:
		return Alarm{Warn, "! unstable: " + a.Field + childOf(a), "each pass wants another value · remove times and random values"}
	case inspect.AlarmMemory:
		return Alarm{Warn, fmt.Sprintf("! memory grows: %d → %d MB, and the objects do not", a.Was>>20, a.Is>>20), "look for values that handlers keep"}
	case inspect.AlarmGoroutines:
		return Alarm{Warn, fmt.Sprintf("! goroutines grow: %s → %s, and the objects do not", Thousands(int(a.Was)), Thousands(int(a.Is))), "look for goroutines that never end"}
	}
	return Alarm{}
}

// childOf names the child of an alarm, and the object that has the child, for the end of a sentence.
func childOf(a *inspect.Alarm) string {
	if a.Child == nil || a.Object == nil {
		return ""
	}
	return " of " + a.Child.Kind + " " + a.Child.Name + " of " + QualifiedName(*a.Object)
}
