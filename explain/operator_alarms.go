package explain

import (
	"fmt"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// published returns the gravest alarm that the operator itself publishes.
func (s *State) published() Alarm {
	if s.Snapshot == nil || !s.Live {
		return Alarm{}
	}
	for _, kind := range []inspect.AlarmKind{inspect.AlarmHotLoop, inspect.AlarmForbidden, inspect.AlarmGoroutines, inspect.AlarmMemory} {
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
	case inspect.AlarmMemory:
		return Alarm{Warn, fmt.Sprintf("! memory grows: %d → %d MB, and the objects do not", a.Was>>20, a.Is>>20), "look for values that handlers keep"}
	case inspect.AlarmGoroutines:
		return Alarm{Warn, fmt.Sprintf("! goroutines grow: %s → %s, and the objects do not", Thousands(int(a.Was)), Thousands(int(a.Is))), "look for goroutines that never end"}
	}
	return Alarm{}
}
